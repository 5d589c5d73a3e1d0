import { query } from "./api.js"
import { Pager } from "./executions.js"
import * as format from "./format.js"
import { Json } from "./jsonTree.js"
import { route, to } from "./route.js"
import { live, now, useResource } from "./state.js"
import type { ActivityRow, OutboxRow, Page, SpawnRow, TimerRow } from "./types.js"
import { type Column, CorruptRows, Empty, Id, Loaded, Mono, Table, Time, visible } from "./ui.js"

interface Failed {
  readonly attempts: number
  readonly error: string | null
  readonly retryAt?: number | null
}

const failed = <A extends Failed>(): ReadonlyArray<Column<A>> => [
  {
    name: "Attempts",
    kind: "num",
    cell: ({ attempts }) => (attempts === 0 ? <span class="faint">0</span> : <span class="word warn">{attempts}</span>)
  },
  {
    name: "Last error",
    kind: "wide",
    cell: ({ error, retryAt }) =>
      error === null ? (
        <span class="faint">none</span>
      ) : (
        <>
          {visible(error)}{" "}
          {retryAt === undefined || retryAt === null ? null : (
            <span class="faint">
              again <Time at={retryAt} />
            </span>
          )}
        </>
      )
  }
]

/** The columns of each kind of work; without whom it is for on the page of that one. */
export const outboxColumns = (all: boolean): ReadonlyArray<Column<OutboxRow>> => [
  { name: "Seq", kind: "num", cell: ({ seq }) => seq },
  ...(all
    ? [
        {
          name: "Target",
          cell: ({ targetId }: OutboxRow) =>
            targetId === null ? <span class="faint">outside</span> : <Id id={targetId} />
        }
      ]
    : []),
  { name: "Kind", cell: ({ event }) => <Mono text={event.kind} /> },
  { name: "Event", cell: ({ event }) => <Mono text={event.id} /> },
  { name: "Emitted", cell: ({ emittedAt }) => <Time at={emittedAt} /> },
  ...failed<OutboxRow>()
]

export const spawnColumns = (all: boolean): ReadonlyArray<Column<SpawnRow>> => [
  { name: "Seq", kind: "num", cell: ({ seq }) => seq },
  ...(all ? [{ name: "Parent", cell: ({ parentId }: SpawnRow) => <Id id={parentId} /> }] : []),
  { name: "Child", cell: ({ childId }) => <Id id={childId} /> },
  { name: "Root path", cell: ({ rootPath }) => <Mono text={rootPath} /> },
  ...failed<SpawnRow>()
]

/** When a timer fires, to the second. */
const Countdown = ({ at }: { readonly at: number }) => (
  <time class={`num ${at <= now.value ? "word warn" : ""}`} title={format.moment(at)}>
    {at <= now.value ? `due ${format.relative(at, now.value)}` : format.relative(at, now.value)}
  </time>
)

export const timerColumns = (all: boolean): ReadonlyArray<Column<TimerRow>> => [
  { name: "Fires", cell: ({ fireAt }) => <Countdown at={fireAt} /> },
  { name: "At", cell: ({ fireAt }) => <span class="num">{format.moment(fireAt)}</span> },
  ...(all ? [{ name: "Execution", cell: ({ executionId }: TimerRow) => <Id id={executionId} /> }] : []),
  { name: "Path", cell: ({ path }) => <Mono text={path} /> },
  ...failed<TimerRow>()
]

export const activityColumns = (all: boolean): ReadonlyArray<Column<ActivityRow>> => [
  {
    name: "State",
    cell: ({ owner, readyAt }) =>
      owner !== null ? (
        <span class="word good">runs</span>
      ) : readyAt > now.value ? (
        <span>
          waits, <Time at={readyAt} />
        </span>
      ) : (
        <span>ready</span>
      )
  },
  { name: "Name", cell: ({ name }) => <Mono text={name} /> },
  ...(all ? [{ name: "Execution", cell: ({ executionId }: ActivityRow) => <Id id={executionId} /> }] : []),
  { name: "Key", cell: ({ key }) => <Mono text={key} /> },
  { name: "Asked", cell: ({ askedAt }) => <Time at={askedAt} /> },
  { name: "Run by", cell: ({ owner }) => <Mono text={owner} none="nobody" /> },
  ...failed<ActivityRow>()
]

const List = <A,>({
  caption,
  columns,
  detail,
  empty,
  keyOf,
  path
}: {
  readonly caption: string
  readonly path: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly keyOf: (row: A) => string
  readonly empty: string
  readonly detail?: ((row: A) => preact.ComponentChildren) | undefined
}) => {
  const resource = useResource<Page<A>>(`${path}${query({ cursor: route.value.query.get("cursor"), limit: 50 })}`)
  return (
    <Loaded of={resource}>
      {({ corrupt, items, next }) => (
        <>
          <CorruptRows rows={corrupt} />
          {items.length === 0 ? (
            <Empty title="Nothing waits">{empty}</Empty>
          ) : (
            <Table caption={caption} columns={columns} keyOf={keyOf} rows={items} detail={detail} />
          )}
          <Pager count={items.length} next={next} />
        </>
      )}
    </Loaded>
  )
}

const kinds = [
  { name: "outbox", label: "Events" },
  { name: "timers", label: "Timers" },
  { name: "activities", label: "Activities" },
  { name: "spawns", label: "Children to create" }
] as const

type Kind = (typeof kinds)[number]["name"]

const lists: { readonly [kind in Kind]: () => preact.JSX.Element } = {
  outbox: () => (
    <List<OutboxRow>
      caption="Events to deliver"
      path="outbox"
      columns={outboxColumns(true)}
      keyOf={({ seq }) => String(seq)}
      empty="Events that steps emit are here until they are delivered."
      detail={({ event }) => <Json value={event.data} what="event data" />}
    />
  ),
  timers: () => (
    <List<TimerRow>
      caption="Armed timers"
      path="timers"
      columns={timerColumns(true)}
      keyOf={({ executionId, path }) => `${executionId} ${path}`}
      empty="Timers that steps arm are here until they fire."
    />
  ),
  activities: () => (
    <List<ActivityRow>
      caption="Activities"
      path="activities"
      columns={activityColumns(true)}
      keyOf={({ seq }) => String(seq)}
      empty="Activities that steps ask for are here until they end."
      detail={({ payload }) => <Json value={payload} what="payload" />}
    />
  ),
  spawns: () => (
    <List<SpawnRow>
      caption="Children to create"
      path="spawns"
      columns={spawnColumns(true)}
      keyOf={({ seq }) => String(seq)}
      empty="Children that steps spawn are here until they are created."
      detail={({ context }) => <Json value={context} what="context" />}
    />
  )
}

const kindOf = (name: string | undefined): Kind => kinds.find((kind) => kind.name === name)?.name ?? "outbox"

export const Work = ({ kind }: { readonly kind: string | undefined }) => {
  const current = kindOf(kind)
  const stats = live.value?.stats
  const Current = lists[current]
  return (
    <>
      <header class="title">
        <h1>Work</h1>
      </header>
      <nav class="tabs" aria-label="Kinds of work">
        {kinds.map(({ label, name }) => (
          <a key={name} href={to(["work", name])} aria-current={name === current ? "page" : undefined}>
            {label}
            {stats === undefined ? null : <span class="count">{format.compact(stats[name].count)}</span>}
          </a>
        ))}
      </nav>
      <Current key={current} />
    </>
  )
}
