import type { ComponentChildren } from "preact"
import { Chart, type Line } from "./charts.js"
import { statuses } from "./executionQuery.js"
import * as format from "./format.js"
import { Icon, StatusIcon } from "./icons.js"
import { divided, Sharing, Workers } from "./processes.js"
import { to } from "./route.js"
import { live, now, samples, session, useResource } from "./state.js"
import type { Overview as Data, Status } from "./types.js"
import { Empty, Loaded, Loading, Section, visible } from "./ui.js"

const throughput: ReadonlyArray<Line> = [
  { name: "executions finished", color: "--good", of: ({ finished }) => finished },
  { name: "failed", color: "--bad", dash: [2, 3], of: ({ failed }) => failed }
]
const throughputHere: ReadonlyArray<Line> = [
  { name: "commits here", color: "--accent", dash: [6, 3], of: ({ commits }) => commits },
  ...throughput
]
const backlog: ReadonlyArray<Line> = [{ name: "waiting", color: "--accent", of: ({ waiting }) => waiting }]
const age: ReadonlyArray<Line> = [{ name: "oldest", color: "--warn", of: ({ oldest }) => oldest }]
const latency: ReadonlyArray<Line> = [
  { name: "wait", color: "--accent", of: ({ lag }) => lag },
  { name: "run", color: "--warn", dash: [6, 3], of: ({ duration }) => duration }
]

const Tile = ({
  href,
  label,
  note,
  tone,
  value
}: {
  readonly href: string
  readonly label: string
  readonly value: number | undefined
  readonly note: ComponentChildren
  readonly tone?: "bad" | "warn" | undefined
}) => (
  <a class={`tile ${tone ?? ""}`} href={href}>
    <span class="label">{label}</span>
    <span class="value num">{value === undefined ? "\u2026" : format.compact(value)}</span>
    <span class="note">{note}</span>
  </a>
)

const oldest = (at: number | null) =>
  at === null
    ? "nothing waits"
    : at > now.value
      ? `next ${format.relative(at, now.value)}`
      : `oldest ${format.span(now.value - at)}`

/** Work of one kind; what is tried again is said first. */
const WorkTile = ({
  kind,
  label,
  note,
  of: { count, failing }
}: {
  readonly label: string
  readonly kind: "outbox" | "timers" | "activities" | "spawns"
  readonly of: Pick<Data["stats"]["spawns"], "count" | "failing">
  readonly note: string
}) => (
  <Tile
    label={label}
    href={to(["work", kind])}
    value={count}
    tone={failing > 0 ? "warn" : undefined}
    note={failing > 0 ? `${format.compact(failing)} failing` : note}
  />
)

const Tiles = ({ data: { counts: known, stats } }: { readonly data: Data }) => {
  const counts = known ?? []
  const sum = (...wanted: ReadonlyArray<Status>) =>
    counts.reduce((total, { count, status }) => (status !== null && wanted.includes(status) ? total + count : total), 0)
  const total = counts.reduce((all, { count }) => all + count, 0)
  const failed = sum("FAILED")
  const letters = stats.deadLetters.count
  const { activities, delayed, outbox, spawns, timers } = stats
  return (
    <div class="tiles">
      <Tile
        label="Executions"
        href={to(["executions"])}
        value={known === null ? undefined : total}
        note={known === null ? "being counted" : `${format.compact(sum("RUNNING", "PENDING"))} under way`}
      />
      <Tile
        label="Failed"
        href={to(["executions"], { status: "FAILED" })}
        value={known === null ? undefined : failed}
        tone={failed > 0 ? "bad" : undefined}
        note={known === null ? "being counted" : failed > 0 ? "to redrive or end" : "none"}
      />
      <Tile
        label="Dead letters"
        href={to(["dead-letters"])}
        value={letters}
        tone={letters > 0 ? "bad" : undefined}
        note={letters > 0 ? "given up" : "none"}
      />
      <WorkTile
        label="Events"
        kind="outbox"
        of={outbox}
        note={
          outbox.count === 0 && delayed.count > 0 ? `${format.compact(delayed.count)} delayed` : oldest(outbox.oldest)
        }
      />
      <WorkTile
        label="Timers"
        kind="timers"
        of={timers}
        note={timers.due > 0 ? `${format.compact(timers.due)} due` : oldest(timers.oldest)}
      />
      <WorkTile
        label="Activities"
        kind="activities"
        of={activities}
        note={activities.running > 0 ? `${format.compact(activities.running)} running` : oldest(activities.oldest)}
      />
      <WorkTile
        label="Children to create"
        kind="spawns"
        of={spawns}
        note={spawns.count > 0 ? "waiting" : "nothing waits"}
      />
    </div>
  )
}

/** What is wrong, each as a sentence. */
const problemsOf = ({ counts, health, processes, stats }: Data): ReadonlyArray<string> => [
  ...divided({ processes }),
  ...(health?.problems ?? []),
  ...(health?.unknownDefinitions ?? []).map(
    ({ name, since }) =>
      `work has waited ${format.span(now.value - since)} for the definition ${name}, which this process does not have`
  ),
  ...(health?.unknownActivities ?? []).map(
    ({ name, since }) =>
      `work has waited ${format.span(now.value - since)} for the activity ${name}, which this process does not have`
  ),
  ...(stats.delayed.corrupt > 0
    ? [`${format.times(stats.delayed.corrupt, "delayed event")} without a time, which are never due`]
    : []),
  ...((counts ?? []).some(({ status }) => status === null)
    ? ["some stored executions cannot be read: holdfast verify names them"]
    : [])
]

const Problems = ({ data }: { readonly data: Data }) => {
  const found = problemsOf(data)
  return found.length === 0 ? null : (
    <div class="notice bad" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{format.times(found.length, "problem")}</strong>
        <ul class="plain">
          {found.map((text) => (
            <li key={text}>{visible(format.sentence(text))}</li>
          ))}
        </ul>
      </div>
    </div>
  )
}

const Definitions = ({ data: { counts } }: { readonly data: Data }) => {
  if (counts === null) return <Loading />
  const names = Array.from(new Set(counts.map(({ definitionId }) => definitionId)))
  const of = (name: string, status: Status) =>
    counts.find((each) => each.definitionId === name && each.status === status)?.count ?? 0
  const shown = statuses.filter((status) => counts.some((each) => each.status === status))
  if (names.length === 0) {
    return (
      <Empty title="No execution yet">
        Start one in your application, or send it its first event: it is here a moment later.
      </Empty>
    )
  }
  return (
    <table class="matrix">
      <caption class="hidden">Executions by definition and status</caption>
      <thead>
        <tr>
          <th scope="col">Definition</th>
          {shown.map((status) => (
            <th key={status} scope="col" class={`num ${status.toLowerCase()}`}>
              <StatusIcon status={status} />
              {status}
            </th>
          ))}
          <th scope="col" class="num">
            All
          </th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const total = counts.reduce((all, each) => (each.definitionId === name ? all + each.count : all), 0)
          return (
            <tr key={name}>
              <th scope="row">
                <a href={to(["executions"], { definition: name })}>{visible(name)}</a>
              </th>
              {shown.map((status) => {
                const count = of(name, status)
                return (
                  <td key={status} class="num" data-label={status}>
                    {count === 0 ? (
                      <span class="faint">0</span>
                    ) : (
                      <a href={to(["executions"], { definition: name, status })}>{format.whole(count)}</a>
                    )}
                  </td>
                )
              })}
              <td class="num" data-label="All">
                {format.whole(total)}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

export const Overview = () => {
  const asked = useResource<Data>(live.value === undefined ? "overview" : undefined)
  const resource = live.value === undefined ? asked : { ...asked, data: live.value, problem: undefined }
  const here = session.value?.runtime === true
  const shown = samples.value
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Loaded of={resource}>
        {(data) => (
          <>
            <Problems data={data} />
            <Tiles data={data} />
            <div class="charts">
              <Chart
                title="Throughput a second"
                lines={here ? throughputHere : throughput}
                samples={shown}
                show={format.compact}
              />
              <Chart title="Backlog" lines={backlog} samples={shown} show={format.compact} />
              {here ? (
                <Chart
                  title="Latency of events here, 95th percentile"
                  lines={latency}
                  samples={shown}
                  show={format.span}
                />
              ) : (
                <Chart title="Age of the oldest work" lines={age} samples={shown} show={format.span} />
              )}
            </div>
            <Section title="Definitions">
              <Definitions data={data} />
            </Section>
            <Section title="Workers of this process">
              <Workers health={data.health} />
            </Section>
            <Section title="Processes that share the work">
              <Sharing processes={data.processes} />
            </Section>
          </>
        )}
      </Loaded>
    </>
  )
}
