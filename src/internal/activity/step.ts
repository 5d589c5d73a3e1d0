import * as Either from "effect/Either"
import type { Any } from "../../Activity.js"
import * as Commit from "../../Commit.js"
import type { Builder } from "../../Step.js"
import { change, invalidate } from "../processor/step.js"
import { type Contract, contractOf } from "./contract.js"

/**
 * The key of an activity that is given none: which of its name it is among those that the step asks for, and at which version. A step
 * that is run
 * again from where it ran gives the same keys.
 */
const nextKey = ({ commit, execution }: Builder<unknown>, name: string): string => {
  const asked = (commit.activities ?? []).filter((op) => op._tag === "Run" && op.name === name)
  return `${name}:${execution.version + 1}:${asked.length}`
}

const asked = <Context>(self: Builder<Context>, op: Commit.ActivityOp): Builder<Context> =>
  change(self, {}, { activities: [...(self.commit.activities ?? []), op] })

/** Asks for an activity of this contract. */
export const ask = <Context>(
  self: Builder<Context>,
  { limitKey, name, payload: codec }: Contract,
  payload: unknown,
  key = nextKey(self, name)
): Builder<Context> =>
  Either.match(codec.encode(payload), {
    onLeft: (problem) => invalidate(self, { subject: `payload of activity ${name}`, ...problem }),
    onRight: (encoded) => asked(self, Commit.runActivity({ key, name, payload: encoded, limitKey: limitKey(payload) }))
  })

export const run = <Context>(
  self: Builder<Context>,
  activity: Any,
  payload?: unknown,
  { key }: { readonly key?: string | undefined } = {}
): Builder<Context> => ask(self, contractOf(activity), payload, key)

export const cancel = <Context>(self: Builder<Context>, key: string): Builder<Context> =>
  asked(self, Commit.cancelActivity(key))
