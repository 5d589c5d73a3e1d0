import * as dice_ from "./dice.js"

/**
 * What happens to the next request of a process.
 *
 * - `refused`: it fails, and nothing is applied.
 * - `lost`: it is applied, and its answer is lost.
 * - `dropped`: it is not applied, and its answer is lost.
 * - `late`: its answer is lost, and it is applied later.
 * - `twice`: it is applied, its answer is lost, and later it is applied once more, where drivers must bear that.
 * - `statement`: one of its statements fails, where it has any; else it is refused.
 * - `slow`: it is applied and answered later.
 * - `fatal`: it is applied, and the process stops dead before the answer.
 * - `frozen`: it is applied, and the process is frozen from when it was sent. An outcome it sends only afterwards, when what
 *   it did is not its own any more: its lease is lost, or its claim.
 */
export type RequestFault = "refused" | "lost" | "dropped" | "late" | "twice" | "slow" | "fatal" | "frozen" | "statement"

/**
 * Which requests: reads, those of an execution for an event, writes of work, what processes write on their own account (leases, claims), and
 * the outcomes of events and of activities.
 */
export type Kind = "read" | "event" | "write" | "upkeep" | Outcome

export type Outcome = "outcome of an event" | "outcome of an activity"

/** What is wrong with the database for a time. */
export type Trouble = "away" | "busy" | "disk-full" | "read-only"

export type Command = "suspend" | "resume" | "cancel" | "redrive" | "terminate" | "purge"

/** One thing that happens, at a time in milliseconds. `id` stays the same where others are left out. */
export type Item = { readonly id: number; readonly at: number } & (
  | {
      readonly _tag: "Request"
      readonly process: number
      readonly how: RequestFault
      readonly millis: number
      readonly kind: Kind
    }
  | { readonly _tag: "Trouble"; readonly how: Trouble; readonly millis: number }
  | { readonly _tag: "Kill"; readonly process: number; readonly steps: number; readonly millis: number }
  | { readonly _tag: "Restart"; readonly process: number }
  | { readonly _tag: "Freeze"; readonly process: number; readonly millis: number }
  | { readonly _tag: "Clock"; readonly process: number; readonly millis: number }
  | { readonly _tag: "Operation"; readonly process: number; readonly nth: number; readonly argument: number }
  | { readonly _tag: "Command"; readonly process: number; readonly command: Command; readonly nth: number }
)

export interface Amounts {
  readonly processes: number
  readonly millis: number
  readonly faults: number
  readonly operations: number
  readonly commands: ReadonlyArray<Command>
  /** Whether requests have statements. */
  readonly sql: boolean
}

const fault = (dice: dice_.Dice, processes: number, sql: boolean): Undated => {
  const process = dice.below(processes)
  const which = dice.below(20)
  if (which < 11) {
    const broken = dice.chance(0.4)
    const any = dice.pick<RequestFault>(
      "refused",
      "lost",
      "lost",
      "dropped",
      "late",
      "twice",
      "slow",
      "statement",
      "statement",
      "fatal",
      "fatal",
      "frozen",
      "frozen"
    )
    const how = sql && broken ? "statement" : any
    const millis = dice.between(1, 4_000)
    return {
      _tag: "Request",
      process,
      how,
      millis,
      kind: how === "frozen" ? "event" : dice.pick<Kind>("read", "write", "write", "write", "write", "write", "upkeep")
    }
  }
  if (which < 13) {
    const how = dice.pick<Trouble>("away", "busy", "disk-full", "read-only")
    return { _tag: "Trouble", how, millis: dice.between(50, 4_000) }
  }
  if (which < 16) return { _tag: "Kill", process, steps: dice.between(1, 300), millis: dice.between(10, 5_000) }
  if (which < 17) return { _tag: "Restart", process }
  if (which < 19) return { _tag: "Freeze", process, millis: dice.between(100, 7_000) }
  return {
    _tag: "Clock",
    process,
    millis: dice.chance(0.2) ? dice.between(-90_000, 90_000) : dice.between(-5_000, 5_000)
  }
}

/** An outcome that comes when it is too late: one fault in six, as few requests are one whose sender may have lost the right to it. */
const late = (dice: dice_.Dice, processes: number): Undated => ({
  _tag: "Request",
  process: dice.below(processes),
  how: "frozen",
  // Leases last for three seconds and more.
  millis: dice.between(3_000, 9_000),
  kind: dice.pick<Kind>("outcome of an event", "outcome of an event", "outcome of an activity")
})

type WithoutPlace<A> = A extends unknown ? Omit<A, "id" | "at"> : never
type Undated = WithoutPlace<Item>

/** What a seed makes happen, in the order of time. */
export const make = (
  seed: number,
  { commands, faults, millis, operations, processes, sql }: Amounts
): ReadonlyArray<Item> => {
  const dice = dice_.make(seed, "plan")
  const items: Array<Undated & { readonly at: number }> = []
  for (let i = 0; i < operations; i++) {
    items.push({
      at: dice.below(millis),
      _tag: "Operation",
      process: dice.below(processes),
      nth: dice.below(1_000_000),
      argument: dice.below(1_000_000)
    })
  }
  const outcomes = dice_.make(seed, "outcomes")
  for (let i = 0; i < faults; i++) {
    const at = dice.below(millis)
    const any = fault(dice, processes, sql)
    items.push({ at, ...(i % 6 === 5 ? late(outcomes, processes) : any) })
  }
  const [first, ...rest] = commands
  for (let i = 0; first !== undefined && i < Math.ceil(operations / 4); i++) {
    const command = dice.pick(first, ...rest)
    items.push({
      at: dice.below(millis),
      _tag: "Command",
      process: dice.below(processes),
      command,
      nth: dice.below(1_000_000)
    })
  }
  return items.sort((a, b) => a.at - b.at).map((item, id) => ({ ...item, id }))
}

const describeWhat = (item: Item): string => {
  switch (item._tag) {
    case "Request":
      return `the next request of p${item.process} of kind ${item.kind}: ${item.how} (${item.millis} ms)`
    case "Trouble":
      return `the database: ${item.how} for ${item.millis} ms`
    case "Kill":
      return `p${item.process} stops dead after ${item.steps} more steps, and is back after ${item.millis} ms`
    case "Restart":
      return `p${item.process} is stopped and started`
    case "Freeze":
      return `p${item.process} is frozen for ${item.millis} ms`
    case "Clock":
      return `the clock of p${item.process} is set by ${item.millis} ms`
    case "Operation":
      return `operation ${item.nth} with ${item.argument} at p${item.process}`
    case "Command":
      return `${item.command} of an execution (${item.nth}) by p${item.process}`
  }
}

/** Whether it is something that goes wrong, and not what clients or operators do. */
export const isFault = ({ _tag }: Item): boolean => _tag !== "Operation" && _tag !== "Command"

/** An item in words. */
export const describe = (item: Item): string =>
  `#${item.id} at ${(item.at / 1_000).toFixed(3)} s: ${describeWhat(item)}`
