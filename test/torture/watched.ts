/** A store that writes down what is asked of it, and what it answers. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Commit, Committed } from "holdfast/Commit"
import type { Execution } from "holdfast/Execution"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import type { StoreConflict, StoreError } from "holdfast/StoreError"
import * as batchVariant from "../../src/internal/util/batchVariant.js"
import type { Told, Writer } from "./journal.js"

/** What an error says about a write. */
export const ofError = (error: StoreConflict | StoreError): Told => {
  switch (error._tag) {
    case "StoreConflict":
      return { _tag: "Conflict" }
    case "StoreUnavailable":
      return { _tag: error.outcome === "unknown" ? "Unknown" : "NotApplied", why: error.message }
    default:
      return { _tag: "NotApplied", why: error.message }
  }
}

const unknown: Told = { _tag: "Unknown", why: "it was interrupted, or is a defect" }

/** What an exit says; one without a typed error says nothing. */
export const ofExit = <A>(exit: Exit.Exit<A, StoreConflict | StoreError>, success: (value: A) => Told): Told =>
  Exit.match(exit, {
    onSuccess: success,
    onFailure: (cause) => (cause._tag === "Fail" ? ofError(cause.error) : unknown)
  })

const done: Told = { _tag: "Done" }

const asked = ({ id, version }: Execution, { processed, remembered }: Commit) =>
  ({ _tag: "Commit", id, from: version, processed, remembered: remembered !== undefined }) as const

/** The commits of the runtime: that of one step each. */
const commits = (writer: Writer, store: ExecutionStore): Pick<ExecutionStore, "commit" | "commitEach" | "save"> => {
  const commit: ExecutionStore["commit"] = (execution, commit = {}) =>
    Effect.suspend(() => {
      const tell = writer.ask(asked(execution, commit))
      return Effect.onExit(store.commit(execution, commit), (exit) =>
        Effect.sync(() => tell(ofExit<Committed>(exit, () => done)))
      )
    })
  const commitEach: ExecutionStore["commitEach"] = (all) =>
    Effect.suspend(() => {
      const tells = all.map(({ commit = {}, execution }) => writer.ask(asked(execution, commit)))
      return Effect.tap(store.commitEach(all), (exits) =>
        Effect.sync(() => {
          for (const [place, exit] of exits.entries()) tells[place]?.(ofExit<Committed>(exit, () => done))
        })
      )
    })
  return {
    commit,
    commitEach: batchVariant.isOf(store.commitEach, store.commit) ? batchVariant.of(commitEach, commit) : commitEach,
    save: (execution) => Effect.map(commit(execution), (committed) => committed.execution)
  }
}

export const make = (writer: Writer, store: ExecutionStore): ExecutionStore => ({ ...store, ...commits(writer, store) })

/** The value of a register that an execution is: see `register.ts`. */
export const valueOf = (execution: Option.Option<Execution>): { readonly version: number; readonly value: string } =>
  Option.match(execution, {
    onNone: () => ({ version: 0, value: "" }),
    onSome: ({ context, version }) => ({ version, value: String(context["value"]) })
  })
