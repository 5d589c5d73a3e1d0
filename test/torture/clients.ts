/** What the clients of one process do to a store while the faults come. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type { StoreError } from "holdfast/StoreError"
import type { Told, Writer } from "./journal.js"
import { Order } from "./order.js"
import * as Watched from "./watched.js"

/**
 * - `by`: the name of the process, of which there is never another one.
 * - `shared`: the names of the orders and registers that all processes use begin so.
 * - `pause`: how long a client rests between two things, in milliseconds, on average.
 */
export interface Options {
  readonly by: string
  readonly shared: string
  readonly pause: number
}

/** How many orders and registers all processes share. */
const together = 3

const eventsOfAnOrder = 4

const saw = (execution: Option.Option<Execution.Execution>, processed?: boolean): Told => ({
  _tag: "Saw",
  ...Watched.valueOf(execution),
  processed
})

// What is not read tells nothing.
const unread: Told = { _tag: "Unknown", why: "it was not read" }

const consumed = Random.nextIntBetween(0, 12).pipe(Effect.map((n) => `event-${n}`))

interface Read {
  readonly execution: Option.Option<Execution.Execution>
  readonly processed?: boolean | undefined
}

const readOf = (
  store: ExecutionStore.ExecutionStore,
  id: string,
  event: string | undefined
): Effect.Effect<Read, StoreError> =>
  event === undefined ? Effect.map(store.load(id), (execution) => ({ execution })) : store.loadForEvent(id, event)

/** Reads a register, at times with the question whether it has consumed an event; writes it from what was read. */
const registerStep = (writer: Writer, id: string, value: string) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const event = (yield* Random.next) < 0.3 ? yield* consumed : undefined
    const tellRead = writer.ask({ _tag: "Read", id, event })
    const read = readOf(store, id, event)
    const { execution, processed } = yield* Effect.onExit(read, (exit) =>
      Effect.sync(() => tellRead(exit._tag === "Success" ? saw(exit.value.execution, exit.value.processed) : unread))
    )
    // Who finds an event consumed does not consume it again.
    if (processed === true || (yield* Random.next) < 0.4) return
    // Others may come first meanwhile.
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 10))
    const base = Option.getOrElse(execution, () => Execution.make({ id, definitionId: "register" }))
    const tell = writer.ask({ _tag: "Write", id, from: base.version, value, event })
    const write = store.commit({ ...base, context: { value } }, event === undefined ? {} : { processed: event })
    yield* Effect.onExit(write, (exit) => Effect.sync(() => tell(Watched.ofExit(exit, () => ({ _tag: "Done" })))))
  })

/** A client that is not answered asks again, with the same ids, until it is. */
const patiently = Effect.retry(Schedule.spaced("150 millis"))

const done =
  (tell: (told: Told) => void) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.tap(effect, () => Effect.sync(() => tell({ _tag: "Done" })))

const start = (writer: Writer, id: string, events: number) =>
  Effect.suspend(() => {
    const tell = writer.ask({ _tag: "Start", id, events })
    return Order.startOrGet(id, { events }).pipe(patiently, done(tell))
  })

/** Sends the next event of a client to an order, at times twice. */
const send = (writer: Writer, id: string, client: string, nth: number) =>
  Effect.gen(function* () {
    const event = `${client}-${nth}`
    const tell = writer.ask({ _tag: "Send", id, event, client, nth })
    const sending = Order.send(id, "Add", { event, client, nth }, { id: event }).pipe(patiently)
    yield* done(tell)(sending)
    if ((yield* Random.next) < 0.1) yield* sending
  })

const rest = (pause: number) => Effect.flatMap(Random.nextIntBetween(0, 2 * pause), (millis) => Effect.sleep(millis))

/** Lists what this process has started, where a copy may answer. What it has written it sees. */
const list = (writer: Writer, id: string) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const tell = writer.ask({ _tag: "List", id })
    const ids = yield* store.idsWithPrefix(id).pipe(patiently)
    tell(ids.includes(id) ? { _tag: "Done" } : { _tag: "Lacking" })
  })

/** An order of its own, to its end. */
const ownOrder = (writer: Writer, { by, pause }: Options, nth: number) =>
  Effect.gen(function* () {
    const id = `o-${by}-${nth}`
    yield* start(writer, id, eventsOfAnOrder)
    if ((yield* Random.next) < 0.3) yield* list(writer, id)
    for (let i = 1; i <= eventsOfAnOrder; i++) {
      yield* send(writer, id, id, i)
      yield* rest(pause)
    }
  })

const ordersClient = (writer: Writer, options: Options, first: number) =>
  Effect.gen(function* () {
    for (let nth = first; ; nth += together) yield* ownOrder(writer, options, nth)
  })

/** Events to the orders that all processes send to. */
const sharedClient = (writer: Writer, { by, pause, shared }: Options) =>
  Effect.gen(function* () {
    const id = (n: number) => `s-${shared}-${n}`
    for (let n = 0; n < together; n++) yield* start(writer, id(n), 0)
    for (let nth = 1; ; nth++) {
      const n = yield* Random.nextIntBetween(0, together)
      yield* send(writer, id(n), `c-${by}`, nth)
      yield* rest(4 * pause)
    }
  })

const sizeOfAGroup = 6

/** Orders of their own that are started together, at times once more, and whose only events come at the same time. */
const groupClient = (writer: Writer, { by, pause }: Options) =>
  Effect.gen(function* () {
    for (let nth = 1; ; nth++) {
      const ids = Array.from({ length: sizeOfAGroup }, (_, i) => `g-${by}-${nth}-${i}`)
      const starting = Order.startMany(ids.map((id) => ({ id, input: { events: 1 } }))).pipe(patiently)
      const tells = ids.map((id) => writer.ask({ _tag: "Start", id, events: 1 }))
      yield* starting
      for (const tell of tells) tell({ _tag: "Done" })
      if ((yield* Random.next) < 0.2) yield* starting
      yield* Effect.forEach(ids, (id) => send(writer, id, id, 1), { concurrency: "unbounded", discard: true })
      yield* rest(8 * pause)
    }
  })

const registerClient = (writer: Writer, { by, pause, shared }: Options, client: number) =>
  Effect.gen(function* () {
    for (let nth = 1; ; nth++) {
      const n = yield* Random.nextIntBetween(0, together)
      yield* Effect.ignore(registerStep(writer, `r-${shared}-${n}`, `${by}/${client}/${nth}`))
      yield* rest(pause)
    }
  })

/** All clients of a process, until they are interrupted. */
export const run = (writer: Writer, options: Options): Effect.Effect<void, unknown, ExecutionStore.ExecutionStore> =>
  Effect.all(
    [
      ...[0, 1, 2].map((first) => ordersClient(writer, options, first)),
      sharedClient(writer, options),
      groupClient(writer, options),
      ...[1, 2].map((client) => registerClient(writer, options, client))
    ],
    { concurrency: "unbounded", discard: true }
  )
