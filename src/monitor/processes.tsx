import * as format from "./format.js"
import { now } from "./state.js"
import type { Overview, Processes } from "./types.js"
import { Empty, Time, visible } from "./ui.js"

export const Workers = ({ health }: Pick<Overview, "health">) => {
  if (health === null) {
    return (
      <Empty title="No workers in this process">
        This monitor runs beside them. Mount it in the process that runs them to see their health.
      </Empty>
    )
  }
  return (
    <table class="matrix">
      <caption class="hidden">Workers of this process</caption>
      <thead>
        <tr>
          <th scope="col">Worker</th>
          <th scope="col">State</th>
          <th scope="col" class="num">
            In hand
          </th>
          <th scope="col" class="num">
            Held back
          </th>
          <th scope="col" class="num">
            Given up
          </th>
          <th scope="col">Last look</th>
          <th scope="col">Last error</th>
        </tr>
      </thead>
      <tbody>
        {health.workers.map((worker) => (
          <tr key={worker.name}>
            <th scope="row">{worker.name}</th>
            <td data-label="State">
              {worker.outage !== null ? (
                <span class="word bad">waits for the store</span>
              ) : worker.paused ? (
                <span class="word warn">paused</span>
              ) : (
                <span class="word good">runs</span>
              )}
            </td>
            <td class="num" data-label="In hand">
              {format.whole(worker.backlog)}
            </td>
            <td class="num" data-label="Held back">
              {format.whole(worker.held)}
            </td>
            <td class="num" data-label="Given up">
              {format.whole(worker.deadLetters)}
            </td>
            <td data-label="Last look">
              <Time at={worker.lastRun} />
            </td>
            <td class="wide" data-label="Last error">
              {worker.error === null ? (
                <span class="faint">none</span>
              ) : (
                <>
                  <Time at={worker.error.time} /> {visible(worker.error.message)}
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Shards in few words: those that follow each other are one part. */
const ranges = (names: ReadonlyArray<string>): string => {
  const parts: Array<[string, string]> = []
  for (const name of names) {
    const last = parts.at(-1)
    if (last !== undefined && Number(last[1]) + 1 === Number(name)) last[1] = name
    else parts.push([name, name])
  }
  return parts.map(([from, to]) => (from === to ? from : `${from}\u2013${to}`)).join(", ")
}

type Pool = Processes["pools"][number]
type Process = Pool["processes"][number]

const sharesOf = ({ name, service, shares }: Pool): string =>
  shares === "lanes"
    ? service === null
      ? "lanes"
      : `lanes of ${visible(service)}`
    : shares === "activities"
      ? "activities"
      : visible(name)

/** What is known of whether a process lives: its last sign is by its own clock. */
const Life = ({
  alone,
  pool,
  process
}: {
  readonly alone: boolean
  readonly pool: Pool
  readonly process: Process
}) => {
  const { renewedAt, running, ttl } = process
  if (alone) return <span class="word good">this one</span>
  if (renewedAt === null || ttl === null) return <span class="word warn">gone, others take its work</span>
  if (pool.shares === "activities" && running === 0) return <span>runs nothing now</span>
  return renewedAt + ttl < now.value ? (
    <span class="word bad">gone silent, others take its work</span>
  ) : (
    <span class="word good">alive</span>
  )
}

/** Until when a process keeps what it holds, unless it shows another sign. */
const Until = ({ process: { renewedAt, ttl } }: { readonly process: Process }) => (
  <Time at={renewedAt === null || ttl === null ? null : renewedAt + ttl} />
)

const Held = ({ pool, process: { held, leases, running } }: { readonly pool: Pool; readonly process: Process }) =>
  pool.shares === "activities" ? (
    format.times(running, "activity", "activities")
  ) : (
    <>
      <span>
        {format.whole(held)}
        {pool.total === null ? "" : ` of ${format.whole(pool.total)}`}
      </span>{" "}
      {held === 0 ? null : <span class="faint mono">{ranges(leases)}</span>}
    </>
  )

export const Sharing = ({ processes }: Pick<Overview, "processes">) => {
  if (processes === null) {
    return (
      <Empty title="Who shares the work is not known">
        A stored row of it cannot be read: <code>holdfast verify</code> names it.
      </Empty>
    )
  }
  const { alone, pools } = processes
  if (pools.length === 0) {
    return (
      <Empty title={alone ? "No other process can reach this store" : "No process has told its name"}>
        {alone ? (
          "It is held by this process alone."
        ) : (
          <>
            Processes are known to each other by leases. Switch them on, and give each process a name:{" "}
            <code>{'ExecutionRuntime.layer({ leases: { holder: "orders-1" } })'}</code>. Those that run activities are
            here while they do.
          </>
        )}
      </Empty>
    )
  }
  return (
    <>
      <table class="matrix">
        <caption class="hidden">Processes that share the work of this store</caption>
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">Shares</th>
            <th scope="col">Holds</th>
            <th scope="col">State</th>
            <th scope="col">Last sign</th>
            {alone ? null : <th scope="col">Expires</th>}
          </tr>
        </thead>
        <tbody>
          {pools.flatMap((pool) =>
            pool.processes.map((process) => (
              <tr key={`${pool.name} ${process.name}`}>
                <th scope="row" class="mono">
                  {visible(process.name)}
                </th>
                <td data-label="Shares">{sharesOf(pool)}</td>
                <td data-label="Holds">
                  <Held pool={pool} process={process} />
                </td>
                <td data-label="State">
                  <Life alone={alone} pool={pool} process={process} />
                </td>
                <td data-label="Last sign">
                  <Time at={process.renewedAt} />
                </td>
                {alone ? null : (
                  <td data-label="Expires">
                    <Until process={process} />
                  </td>
                )}
              </tr>
            ))
          )}
        </tbody>
      </table>
      <p class="faint note">
        {pools
          .flatMap((pool) => [
            pool.more > 0 ? [`${format.times(pool.more, "more process", "more processes")} in ${sharesOf(pool)}.`] : [],
            pool.free > 0 && pool.total !== null
              ? [`${format.whole(pool.free)} of ${format.whole(pool.total)} ${sharesOf(pool)} are held by nobody.`]
              : []
          ])
          .flat()
          .join(" ")}{" "}
        Times are by the clock of each process.
      </p>
    </>
  )
}

/** Processes that divide lanes differently do not know of each other, and do the same work. */
export const divided = ({ processes }: Pick<Overview, "processes">): ReadonlyArray<string> => {
  const living = (processes?.pools ?? []).filter(
    ({ processes, shares }) =>
      shares === "lanes" &&
      processes.some(({ renewedAt, ttl }) => renewedAt !== null && ttl !== null && renewedAt + ttl > now.value)
  )
  return living.flatMap((pool, i) =>
    living
      .slice(i + 1)
      .filter(({ service, total }) => service === pool.service && total !== pool.total)
      .map(
        ({ total }) =>
          `some processes divide ${sharesOf(pool)} into ${pool.total} shards and others into ${total}: they do the same work. Give all the same count`
      )
  )
}
