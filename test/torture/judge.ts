/** Decides by the journal whether all promises were kept. */
import type { Entry } from "./journal.js"
import * as Linearizability from "./linearizability.js"
import { isComplete } from "./order.js"
import type { Snapshot, Stored } from "./snapshot.js"

type AskedOf<Tag> = Extract<Entry["asked"], { readonly _tag: Tag }>

/** Whether it only looks at what is there. */
const isLook = ({ asked }: Entry): boolean => asked._tag === "Read" || asked._tag === "List" || asked._tag === "Copy"

const isDone = ({ told }: Entry): boolean => told._tag === "Done"

/** The ids of the executions that the journal knows of; children are those of their parents. */
export const idsOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  Array.from(new Set(entries.map(({ asked }) => asked.id).filter((id) => !id.includes(":"))))

/** Whether what was acknowledged is there. What is only read is not asked about. */
const isKept = ({ asked }: Entry, { executions, pending }: Snapshot): boolean => {
  const execution = executions.get(asked.id)
  switch (asked._tag) {
    case "Start":
      return execution !== undefined
    case "Send":
      return pending.has(`${asked.id} ${asked.event}`) || execution?.order?.seen.includes(asked.event) === true
    case "Commit":
    case "Write":
      return execution !== undefined && execution.version > asked.from
    case "Read":
    case "List":
    case "Copy":
      return true
  }
}

const inWords = ({ asked, by }: Entry): string => {
  switch (asked._tag) {
    case "Start":
      return `the start of ${asked.id}, acknowledged to ${by}`
    case "Send":
      return `event ${asked.event} to ${asked.id}, acknowledged to ${by}`
    case "Commit":
    case "Write":
      return `version ${asked.from + 1} of ${asked.id}, acknowledged to ${by}`
    case "Read":
      return `a read of ${asked.id} by ${by}`
    case "List":
    case "Copy":
      return `a list for ${asked.id} by ${by}`
  }
}

/** What was acknowledged and is not there. */
export const lost = (entries: ReadonlyArray<Entry>, snapshot: Snapshot): ReadonlyArray<Entry> =>
  entries.filter((entry) => isDone(entry) && !isKept(entry, snapshot))

const some = (problems: ReadonlyArray<string>): ReadonlyArray<string> =>
  problems.length <= 5 ? problems : [...problems.slice(0, 5), `and ${problems.length - 5} more like these`]

export const lostProblems = (entries: ReadonlyArray<Entry>, snapshot: Snapshot): ReadonlyArray<string> =>
  some(lost(entries, snapshot).map((entry) => `lost: ${inWords(entry)}`))

/** What an entry asked for, where others ask for the same: a client that starts an order which another one has started asks for nothing new. */
const sameAs = ({ asked }: Entry): string | undefined => {
  switch (asked._tag) {
    case "Start":
      return `start ${asked.id}`
    case "Send":
      return `send ${asked.id} ${asked.event}`
    default:
      return undefined
  }
}

/** When each thing was asked for first. */
const firstAsked = (entries: ReadonlyArray<Entry>): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  for (const entry of entries) {
    const thing = sameAs(entry)
    if (thing !== undefined) times.set(thing, Math.min(entry.began, times.get(thing) ?? entry.began))
  }
  return times
}

/** That only the end is lost: nothing is there that was asked for when something that is lost was acknowledged already. */
export const holes = (entries: ReadonlyArray<Entry>, snapshot: Snapshot): ReadonlyArray<string> => {
  const [first] = [...lost(entries, snapshot)].sort((a, b) => a.ended - b.ended)
  if (first === undefined) return []
  const times = firstAsked(entries)
  const began = (entry: Entry): number => times.get(sameAs(entry) ?? "") ?? entry.began
  const later = entries.filter(
    (entry) => !isLook(entry) && isDone(entry) && began(entry) > first.ended && isKept(entry, snapshot)
  )
  return some(later.map((entry) => `${inWords(entry)}, is there, and not ${inWords(first)} before that`))
}

/** Two acknowledgements of one version, or of one event's consumption. */
const doubles = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const versions = new Map<string, Entry>()
  const consumed = new Map<string, Entry>()
  for (const entry of entries) {
    const { asked, by } = entry
    if ((asked._tag !== "Commit" && asked._tag !== "Write") || !isDone(entry)) continue
    const version = `version ${asked.from + 1} of ${asked.id}`
    const before = versions.get(version)
    if (before !== undefined) problems.push(`${version} was acknowledged twice: to ${before.by} and to ${by}`)
    versions.set(version, entry)
    const event = asked._tag === "Commit" ? asked.processed : asked.event
    if (event === undefined) continue
    const other = consumed.get(`${asked.id} ${event}`)
    if (other !== undefined) problems.push(`${asked.id} consumed ${event} twice: for ${other.by} and for ${by}`)
    consumed.set(`${asked.id} ${event}`, entry)
  }
  return some(problems)
}

const operationOf = (entry: Entry): ReadonlyArray<Linearizability.Operation> => {
  const { asked, began, by, ended, told } = entry
  if (asked._tag !== "Write" && asked._tag !== "Read") return []
  // What was not applied has not happened: where it has all the same, somebody reads a value that nobody wrote.
  if (told._tag === "NotApplied" || told._tag === "Lacking") return []
  const call: Linearizability.Call =
    asked._tag === "Read"
      ? { _tag: "Read", event: asked.event }
      : { _tag: "Write", from: asked.from, value: asked.value, event: asked.event, remembered: asked.remembered }
  const answer: Linearizability.Answer =
    told._tag === "Done" ? { _tag: "Written" } : told._tag === "Unknown" ? { _tag: "Unknown" } : told
  return [{ by, began, ended, call, answer }]
}

/** What no order of the operations on a register explains. The last read is of the snapshot. */
const unexplained = (entries: ReadonlyArray<Entry>, { executions }: Snapshot): ReadonlyArray<string> => {
  const registers = new Map<string, Array<Linearizability.Operation>>()
  let end = 0
  for (const entry of entries) {
    end = Math.max(end, entry.began, Number.isFinite(entry.ended) ? entry.ended : 0)
    for (const operation of operationOf(entry)) {
      const operations = registers.get(entry.asked.id) ?? []
      registers.set(entry.asked.id, operations)
      operations.push(operation)
    }
  }
  return Array.from(registers).flatMap(([id, operations]) => {
    const { value, version } = executions.get(id) ?? { value: "", version: 0 }
    const last: Linearizability.Operation = {
      by: "who looked at the end",
      began: end + 1,
      ended: end + 2,
      call: { _tag: "Read" },
      answer: { _tag: "Saw", version, value }
    }
    const verdict = Linearizability.check([...operations, last])
    return verdict._tag === "Linearizable" ? [] : [`${id}: ${Linearizability.explain(verdict)}`]
  })
}

/** How many operations on registers the journal has. */
export const registerOperations = (entries: ReadonlyArray<Entry>): number => entries.flatMap(operationOf).length

const ofOrder = (
  { events, id }: AskedOf<"Start">,
  stored: Stored | undefined,
  sends: ReadonlyArray<Entry>
): ReadonlyArray<string> => {
  const order = stored?.order
  if (stored === undefined || order === undefined) return []
  const all = sends.length >= events && sends.every(isDone)
  return [
    ...(isComplete(order)
      ? []
      : [`${id} has come to rest with ${order.parts.join(", ")} and ${order.ticks.length} ticks`]),
    ...(events > 0 && all && stored.status !== "DONE" ? [`${id} has all its events and is ${stored.status}`] : [])
  ]
}

/** What orders did not do, or did and should not have. */
const unfinished = (entries: ReadonlyArray<Entry>, { executions }: Snapshot): ReadonlyArray<string> => {
  const sends = new Map<string, Array<Entry>>()
  const starts = new Map<string, AskedOf<"Start">>()
  for (const entry of entries) {
    const { asked } = entry
    if (asked._tag === "Start") starts.set(asked.id, asked)
    if (asked._tag === "Send") sends.set(asked.id, [...(sends.get(asked.id) ?? []), entry])
  }
  return some([
    ...Array.from(starts.values()).flatMap((start) =>
      ofOrder(start, executions.get(start.id), sends.get(start.id) ?? [])
    ),
    ...Array.from(executions).flatMap(([id, { status, wrong }]) => [
      ...wrong.map((what) => `${id}: ${what}`),
      ...(status === "FAILED" ? [`${id} has failed`] : [])
    ])
  ])
}

/** An event that took effect and that nobody sent. */
const invented = (entries: ReadonlyArray<Entry>, { executions }: Snapshot): ReadonlyArray<string> => {
  const sent = new Set(entries.flatMap(({ asked }) => (asked._tag === "Send" ? [`${asked.id} ${asked.event}`] : [])))
  return some(
    Array.from(executions).flatMap(([id, { order }]) => {
      const seen: ReadonlyArray<string> = order?.seen ?? []
      return seen
        .filter((event) => !sent.has(`${id} ${event}`))
        .map((event) => `${id} consumed ${event}, which nobody sent`)
    })
  )
}

/** A process whose list lacked what it had written itself, or what its copy of the server's database should have had. */
const lacking = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  some(
    entries
      .filter(({ told }) => told._tag === "Lacking")
      .map(({ asked, by }) =>
        asked._tag === "Copy"
          ? `the server had ${asked.id}, and the copy of ${by} did not come to have it`
          : `${by} had started ${asked.id}, and then a list of its own lacked it`
      )
  )

/** - `before`: what was asked before a loss of power that may have taken the end. What it took is unknown in it. */
export interface Journals {
  readonly before: ReadonlyArray<Entry>
  readonly entries: ReadonlyArray<Entry>
}

/** What is wrong when all has come to rest; nothing where all promises were kept. */
export const problems = ({ before, entries }: Journals, snapshot: Snapshot): ReadonlyArray<string> => {
  const all = [...before, ...entries]
  return [
    ...lostProblems(all, snapshot),
    ...doubles(entries),
    ...unexplained(entries, snapshot),
    ...lacking(entries),
    ...unfinished(all, snapshot),
    ...invented(all, snapshot),
    ...some(snapshot.corrupt)
  ]
}
