import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import * as cursors from "../codec/cursor.js"
import { type CliError, missing } from "./failure.js"
import { didYouMean } from "./suggestion.js"

/** Ids that begin as this one does, without a look at all that there are. */
const idsNear = (store: ExecutionStore, id: string): Effect.Effect<ReadonlyArray<string>, StoreError> =>
  Effect.map(
    Effect.forEach([id, id.slice(0, Math.ceil(id.length / 2)), undefined], (after) =>
      store.listExecutions({ limit: 200, cursor: after === undefined ? undefined : cursors.encode(after) })
    ),
    (pages) => Array.from(new Set(pages.flatMap(({ items }) => items.map(({ id }) => id))))
  )

/** That there is no such execution, with the id that was probably meant. */
export const noExecution = (store: ExecutionStore, id: string): Effect.Effect<never, CliError | StoreError> =>
  Effect.flatMap(idsNear(store, id), (ids) =>
    missing(`there is no execution ${JSON.stringify(id)}${didYouMean(id, ids)}`)
  )

/** The execution of this id. */
export const findExecution = (store: ExecutionStore, id: string): Effect.Effect<Execution, CliError | StoreError> =>
  Effect.flatMap(store.load(id), Option.match({ onNone: () => noExecution(store, id), onSome: Effect.succeed }))
