import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { type Commit, cancelTimer, scheduleTimer } from "../../Commit.js"
import type { GetError, Instance, SpecOf } from "../../Definition.js"
import * as Execution from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { type Context, type CronDefinition, definitionOf, encodeContext, idOf, pathOf } from "./contract.js"

/** Recurring work as it is stored. */
export type Stored = Instance<SpecOf<CronDefinition>>

/** How reading recurring work can fail, where that it is missing is none. */
export type ReadError = Exclude<GetError, { readonly _tag: "ExecutionMissing" }>

/** The recurring work of a name as it is stored. */
export const load = (name: string): Effect.Effect<Option.Option<Stored>, ReadError, ExecutionStore> =>
  definitionOf(name)
    .get(idOf(name))
    .pipe(
      Effect.map(Option.some),
      Effect.catchTag("ExecutionMissing", () => Effect.succeedNone)
    )

/** Arms the timer for the time that the context says, or cancels it. */
const timers = ({ next }: Context): NonNullable<Commit["timers"]> => [
  next === null ? cancelTimer("next") : scheduleTimer("next", next)
]

/** Writes recurring work: a new one, or what becomes of the one that is stored. */
export const write = (
  name: string,
  before: Option.Option<Stored>,
  context: Context
): Effect.Effect<void, StoreConflict | StoreError, ExecutionStore> => {
  const id = idOf(name)
  const fresh = Execution.make({ id, definitionId: id, rootPath: "" })
  const { status, ...execution } = Option.match(before, {
    onNone: () => fresh,
    onSome: ({ execution }) => execution
  })
  return Effect.flatMap(ExecutionStore, (store) =>
    store.commit(
      {
        ...execution,
        // A suspended one stays so; one that has ended is begun again.
        status: status === "SUSPENDED" ? status : "RUNNING",
        outcome: null,
        error: null,
        activePath: pathOf(context),
        context: { ...execution.context, ...encodeContext(context) }
      },
      { timers: timers(context) }
    )
  ).pipe(Effect.asVoid)
}

const attempts = 100

/** Loads and decides again for as long as others come first: each time somebody gets on. */
export const untilWritten = <A, E, R>(
  effect: Effect.Effect<A, E | StoreConflict, R>
): Effect.Effect<A, E | StoreConflict, R> => {
  const attempt = (left: number): Effect.Effect<A, E | StoreConflict, R> =>
    Effect.flatMap(Effect.either(effect), (outcome) =>
      Either.isLeft(outcome) && isConflict(outcome.left) && left > 0
        ? Effect.zipRight(Effect.yieldNow(), attempt(left - 1))
        : outcome
    )
  return attempt(attempts)
}

const isConflict = (u: unknown): u is StoreConflict =>
  typeof u === "object" && u !== null && "_tag" in u && u._tag === "StoreConflict"
