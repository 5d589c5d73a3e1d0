/** Registers: executions that processes read, and write from what they have read, one alone or several together. See `linearizability.ts`. */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type { StoreError } from "holdfast/StoreError"
import type { Told, Writer } from "./journal.js"
import * as Watched from "./watched.js"

/** - `value`: what is written, of which there is never another one. */
export interface Step {
  readonly id: string
  readonly value: string
}

interface Read {
  readonly execution: Option.Option<Execution.Execution>
  readonly processed?: boolean | undefined
}

// What is not read tells nothing.
const unread: Told = { _tag: "Unknown", why: "it was not read" }

const consumed = Random.nextIntBetween(0, 12).pipe(Effect.map((n) => `event-${n}`))

const toldOf = (exit: Exit.Exit<Read, StoreError>): Told =>
  exit._tag === "Success"
    ? { _tag: "Saw", ...Watched.valueOf(exit.value.execution), processed: exit.value.processed }
    : unread

const read = (
  store: ExecutionStore.ExecutionStore,
  id: string,
  event: string | undefined
): Effect.Effect<Read, StoreError> =>
  event === undefined ? Effect.map(store.load(id), (execution) => ({ execution })) : store.loadForEvent(id, event)

/** Who finds an event consumed does not consume it again, and some only look. */
const writes = ({ processed }: Read) => Effect.map(Random.next, (chance) => processed !== true && chance >= 0.4)

// Others may come first meanwhile.
const meanwhile = Effect.flatMap(Random.nextIntBetween(0, 10), (millis) => Effect.sleep(millis))

const next = ({ id, value }: Step, { execution }: Read): Execution.Execution => ({
  ...Option.getOrElse(execution, () => Execution.make({ id, definitionId: "register" })),
  context: { value }
})

/** Reads a register, at times with the question whether it has consumed an event; writes it from what was read. */
export const one = (writer: Writer, step: Step) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const { id, value } = step
    const event = (yield* Random.next) < 0.3 ? yield* consumed : undefined
    const tellRead = writer.ask({ _tag: "Read", id, event })
    const seen = yield* Effect.onExit(read(store, id, event), (exit) => Effect.sync(() => tellRead(toldOf(exit))))
    if (!(yield* writes(seen))) return
    yield* meanwhile
    const execution = next(step, seen)
    const tell = writer.ask({ _tag: "Write", id, from: execution.version, value, event })
    const write = store.commit(execution, event === undefined ? {} : { processed: event })
    yield* Effect.onExit(write, (exit) => Effect.sync(() => tell(Watched.ofExit(exit, () => ({ _tag: "Done" })))))
  })

/**
 * Writes a register as this process wrote it last, without a read, as the relay does: for an event of the outbox, which is of no use afterwards.
 * Nothing else may work on the outbox. Reads and writes it where it is not remembered.
 */
export const recalled = (writer: Writer, step: Step) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const { id, value } = step
    const found = store.recall(id)
    if (Option.isNone(found)) return yield* one(writer, step)
    const { execution, token } = found.value
    const { version } = execution
    // Some are consumed by the version before.
    const event = `recalled-${version >> 1}`
    const [seq = -1] = yield* store.enqueue([{ targetId: id, event: Event.make({ id: event, kind: "Written" }) }])
    const tell = writer.ask({ _tag: "Write", id, from: version, value, event, remembered: true })
    const commit = { processed: event, ack: { _tag: "Outbox", seq }, remembered: token } as const
    const write = store.commit({ ...execution, context: { value } }, commit)
    yield* Effect.onExit(write, (exit) => Effect.sync(() => tell(Watched.ofExit(exit, () => ({ _tag: "Done" })))))
  })

/** What is to be written of one of several, by whom it is told. */
interface Write {
  readonly execution: Execution.Execution
  readonly commit: { readonly processed: string }
  readonly step: Step
}

/** Reads several registers together, and writes them together from what was read: each of them is one that is read and written by itself. */
export const several = (writer: Writer, steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const queries = yield* Effect.forEach(steps, ({ id }) => Effect.map(consumed, (eventId) => ({ id, eventId })))
    const tellReads = queries.map(({ eventId, id }) => writer.ask({ _tag: "Read", id, event: eventId }))
    const exits = yield* store.loadForEvents(queries)
    for (const [place, exit] of exits.entries()) tellReads[place]?.(toldOf(exit))
    const chosen: Array<Write> = []
    for (const [place, step] of steps.entries()) {
      const exit = exits[place]
      const query = queries[place]
      if (exit?._tag !== "Success" || query === undefined || !(yield* writes(exit.value))) continue
      chosen.push({ step, execution: next(step, exit.value), commit: { processed: query.eventId } })
    }
    if (chosen.length === 0) return
    yield* meanwhile
    const tells = chosen.map(({ commit: { processed }, execution: { id, version }, step: { value } }) =>
      writer.ask({ _tag: "Write", id, from: version, value, event: processed })
    )
    const written = yield* store.commitEach(chosen)
    for (const [place, exit] of written.entries()) tells[place]?.(Watched.ofExit(exit, () => ({ _tag: "Done" })))
  })
