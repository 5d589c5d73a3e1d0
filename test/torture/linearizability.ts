/**
 * Whether what several processes were told of one execution is what one of them could have been told after the other: the search of Wing
 * and Gong in the form of Lowe (2017, "Testing for linearizability"), on a register that is written by compare-and-swap.
 *
 * The operations are looked at in the order in which they begin and end. Kept are all states that the register can be in, each with the
 * operations under way that have had their effect in it. An operation ends in those states only in which it has had the effect that it told
 * of. One whose outcome is unknown never ends: it may have its effect at any later time, or never.
 */

/**
 * What was asked. `from` is the version that a write replaces, 0 where there was none; `event` is what it consumes. `remembered` is whether it
 * was made without a read: then it is written only where its event is not consumed.
 */
export type Call =
  | {
      readonly _tag: "Write"
      readonly from: number
      readonly value: string
      readonly event?: string | undefined
      readonly remembered?: boolean | undefined
    }
  | { readonly _tag: "Read"; readonly event?: string | undefined }

/** What was answered. `processed` is whether the event that was asked for is consumed. */
export type Answer =
  | { readonly _tag: "Written" }
  | { readonly _tag: "Conflict" }
  | { readonly _tag: "Saw"; readonly version: number; readonly value: string; readonly processed?: boolean | undefined }
  | { readonly _tag: "Unknown" }

/** - `began`, `ended`: by one clock. - `by`: who asked. */
export interface Operation {
  readonly by: string
  readonly began: number
  readonly ended: number
  readonly call: Call
  readonly answer: Answer
}

/** The register: nothing at first, which is version 0. */
interface State {
  readonly version: number
  readonly value: string
  readonly consumed: ReadonlySet<string>
}

/** A state, and the operations under way that have had their effect. */
interface Config {
  readonly state: State
  readonly done: ReadonlySet<number>
}

/** `states` are those that the register could be in when `operation` ended, of which none explains its answer. */
export type Verdict =
  | { readonly _tag: "Linearizable" }
  | { readonly _tag: "Violation"; readonly operation: Operation; readonly states: ReadonlyArray<string> }

const keyOf = ({ done, state }: Config): string =>
  JSON.stringify([state.version, state.value, Array.from(state.consumed).sort(), Array.from(done).sort()])

/** An event that is consumed already is no reason to refuse a write that a read came before. */
const takes = ({ consumed, version }: State, { event, from, remembered }: Extract<Call, { _tag: "Write" }>): boolean =>
  from === version && !(remembered === true && event !== undefined && consumed.has(event))

/** Whether an operation that changes nothing tells of this state. */
const tellsOf = ({ answer, call }: Operation, state: State): boolean => {
  if (answer._tag === "Conflict") return call._tag === "Write" && !takes(state, call)
  if (answer._tag !== "Saw") return false
  const { event } = call
  const same = answer.version === state.version && answer.value === state.value
  return (
    same && (event === undefined || answer.processed === undefined || answer.processed === state.consumed.has(event))
  )
}

class Search {
  private configs: ReadonlyArray<Config> = [{ state: { version: 0, value: "", consumed: new Set() }, done: new Set() }]
  /** The operations that have begun and not ended. Those with an unknown outcome stay. */
  private readonly under = new Set<number>()

  constructor(private readonly operations: ReadonlyArray<Operation>) {}

  private at(index: number): Operation {
    const operation = this.operations[index]
    if (operation === undefined) throw new Error(`there is no operation ${index}`)
    return operation
  }

  /** What changes nothing has its effect as early as it can: that never takes a possibility away. */
  private settled({ done, state }: Config): Config {
    const now = Array.from(this.under).filter((index) => !done.has(index) && tellsOf(this.at(index), state))
    return now.length === 0 ? { done, state } : { state, done: new Set([...done, ...now]) }
  }

  /** The configurations that come of one more write that takes effect. */
  private next({ done, state }: Config): ReadonlyArray<Config> {
    const after: Array<Config> = []
    for (const index of this.under) {
      const { answer, call } = this.at(index)
      if (done.has(index) || call._tag !== "Write" || !takes(state, call)) continue
      if (answer._tag !== "Written" && answer._tag !== "Unknown") continue
      const consumed = call.event === undefined ? state.consumed : new Set([...state.consumed, call.event])
      // What is unknown can have its effect once, as its version is over then.
      const known = answer._tag === "Unknown" ? done : new Set([...done, index])
      after.push(this.settled({ state: { version: call.from + 1, value: call.value, consumed }, done: known }))
    }
    return after
  }

  begin(index: number): void {
    this.under.add(index)
    this.configs = this.configs.map((config) => this.settled(config))
  }

  /** Ends an operation; false where no configuration explains its answer. */
  end(index: number): boolean {
    const kept = new Map<string, Config>()
    const seen = new Set<string>()
    const open = [...this.configs]
    for (let config = open.pop(); config !== undefined; config = open.pop()) {
      const key = keyOf(config)
      if (seen.has(key)) continue
      seen.add(key)
      if (config.done.has(index)) kept.set(key, config)
      else open.push(...this.next(config))
    }
    if (kept.size === 0) return false
    this.under.delete(index)
    const without = Array.from(kept.values(), ({ done, state }) => ({
      state,
      done: new Set(Array.from(done).filter((other) => other !== index))
    }))
    this.configs = Array.from(new Map(without.map((config) => [keyOf(config), config])).values())
    return true
  }

  get states(): ReadonlyArray<string> {
    return Array.from(new Set(this.configs.map(({ state }) => `version ${state.version} with ${state.value}`)))
  }
}

interface Moment {
  readonly time: number
  readonly index: number
  readonly ends: boolean
}

/** Where two moments are the same it is not known which came first: the beginnings are taken to. */
const inOrder = (a: Moment, b: Moment): number => a.time - b.time || Number(a.ends) - Number(b.ends)

/** Whether the operations on one execution, which each wrote another value, can have happened one after the other. */
export const check = (operations: ReadonlyArray<Operation>): Verdict => {
  const search = new Search(operations)
  const moments = operations.flatMap(({ answer, began, call, ended }, index): ReadonlyArray<Moment> => {
    const beginning = { time: began, index, ends: false }
    if (answer._tag !== "Unknown") return [beginning, { time: ended, index, ends: true }]
    return call._tag === "Write" ? [beginning] : []
  })
  for (const { ends, index } of moments.sort(inOrder)) {
    const operation = operations[index]
    if (!ends) search.begin(index)
    else if (!search.end(index) && operation !== undefined) {
      return { _tag: "Violation", operation, states: search.states }
    }
  }
  return { _tag: "Linearizable" }
}

/** A violation in a sentence. */
export const explain = ({ operation: { answer, by, call }, states }: Extract<Verdict, { _tag: "Violation" }>): string =>
  `${by} asked for ${JSON.stringify(call)} and was answered ${JSON.stringify(answer)}, which no order of what happened explains: then it was ${states.join(", or ")}`
