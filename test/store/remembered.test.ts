import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { extent, longer } from "../support/extent.js"
import * as Temp from "../support/temp.js"

/** What one of two processes does next with one of two executions. */
type Action = "consume" | "consume again" | "save" | "purge and make anew"

const action = FastCheck.record({
  what: FastCheck.constantFrom<Action>(
    "consume",
    "consume",
    "consume",
    "consume again",
    "consume again",
    "save",
    "purge and make anew"
  ),
  process: FastCheck.nat(1),
  execution: FastCheck.constantFrom("a", "b")
})

// Nothing here is lost in a loss of power.
const durability = "normal"

const seen = ({ context }: Execution.Execution): ReadonlyArray<unknown> =>
  Array.isArray(context.seen) ? context.seen : []

/** Consumes an event as a processor does: from memory, and where that was wrong with a load. */
const consume = (store: ExecutionStore, id: string, seq: number, eventId: string) =>
  Effect.gen(function* () {
    const ack = { _tag: "Outbox", seq } as const
    const step = (execution: Execution.Execution, remembered?: string) =>
      store.commit(
        { ...execution, context: { ...execution.context, seen: [...seen(execution), eventId] } },
        { processed: eventId, ack, remembered }
      )
    const recalled = store.recall(id)
    if (Option.isSome(recalled)) {
      const exit = yield* Effect.exit(step(recalled.value.execution, recalled.value.token))
      if (Exit.isSuccess(exit)) return "remembered"
    }
    const { execution, processed } = yield* store.loadForEvent(id, eventId)
    if (Option.isNone(execution) || processed) yield* store.ackOutbox(seq)
    else yield* step(execution.value)
    return "loaded"
  })

const current = (store: ExecutionStore, id: string) => Effect.flatMap(store.load(id), (found) => found)

/** Runs actions, and gives how often an event was consumed from memory alone. */
const run = (actions: ReadonlyArray<{ readonly what: Action; readonly process: number; readonly execution: string }>) =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    const stores = yield* Effect.all([
      SqliteStore.make({ filename, durability }),
      SqliteStore.make({ filename, durability })
    ])
    const model = new Map<string, Array<string>>([
      ["a", []],
      ["b", []]
    ])
    for (const id of model.keys()) yield* stores[0].save(Execution.make({ id, definitionId: "d", status: "RUNNING" }))
    let fromMemory = 0
    for (const [n, { execution: id, process, what }] of actions.entries()) {
      const store = stores[process] ?? stores[0]
      const consumed = model.get(id) ?? []
      if (what === "save") {
        yield* store.save(yield* current(store, id))
      } else if (what === "purge and make anew") {
        const { version } = yield* current(store, id)
        yield* store.purge(id, version)
        // As many commits as before: the version alone does not tell.
        let anew = Execution.make({ id, definitionId: "d", status: "RUNNING" })
        for (let i = 0; i < version; i++) anew = yield* store.save(anew)
        consumed.length = 0
      } else {
        const last = consumed.at(-1)
        const eventId = what === "consume" || last === undefined ? `e${n}` : last
        const [seq = -1] = yield* store.enqueue([{ targetId: id, event: Event.make({ id: eventId, kind: "Seen" }) }])
        if ((yield* consume(store, id, seq, eventId)) === "remembered") fromMemory++
        if (eventId !== last) consumed.push(eventId)
      }
      assert.deepStrictEqual(seen(yield* current(store, id)), model.get(id), `after ${what} of ${id}, number ${n}`)
      assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
    }
    return fromMemory
  })

it.scoped(
  longer("Of what two processes remember of a file no event is consumed twice, none is lost, and most need no read"),
  () =>
    Effect.gen(function* () {
      const runs = FastCheck.sample(FastCheck.array(action, { minLength: 20, maxLength: 30 }), {
        numRuns: extent({ quick: 4, long: 100 }),
        seed: 7
      })
      const counts = yield* Effect.forEach(runs, (actions) => Effect.scoped(run(actions)))
      assert.isAbove(Math.max(...counts), 3)
    })
)
