/** Whether the copy of a server's database that a process has comes to have what the server has, when nobody writes any more. */
import * as Effect from "effect/Effect"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import type { StoreError } from "holdfast/StoreError"
import { patiently, prefixes } from "./clients.js"
import type { Writer } from "./journal.js"

const ids = (store: ExecutionStore): Effect.Effect<ReadonlySet<string>, StoreError> =>
  Effect.map(Effect.forEach(prefixes, store.idsWithPrefix), (found) => new Set(found.flat()))

/** What the server has all along, and the copy lacks after a time in which it is synced. */
const lacking = (copy: ExecutionStore, server: ExecutionStore) =>
  Effect.gen(function* () {
    const before = yield* ids(server)
    yield* Effect.sleep("1500 millis")
    const found = yield* ids(copy)
    const after = yield* ids(server)
    return Array.from(before).filter((id) => after.has(id) && !found.has(id))
  })

/** Looks until the copy lacks nothing, or for so long that it never will; writes down what it lacks then. */
export const judge = (writer: Writer, copy: ExecutionStore, server: ExecutionStore) =>
  Effect.gen(function* () {
    const last = yield* patiently(lacking(copy, server)).pipe(
      Effect.repeat({ until: (ids) => ids.length === 0, times: 20 })
    )
    for (const id of last) writer.ask({ _tag: "Copy", id })({ _tag: "Lacking" })
  })
