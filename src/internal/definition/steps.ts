import * as Either from "effect/Either"
import { dual } from "effect/Function"
import type { SendOptions } from "../../Definition.js"
import * as Step from "../../Step.js"
import { ask } from "../activity/step.js"
import * as step from "../processor/step.js"
import { describe } from "../util/errorText.js"
import { type Contract, initialContext } from "./contract.js"

type Builder = Step.Builder<unknown>

interface SpawnOptions {
  readonly id?: string | undefined
}

interface RunOptions {
  readonly key?: string | undefined
}

interface FinishOptions {
  readonly outcome?: string | undefined
}

const finish =
  ({ result: codec }: Contract) =>
  (self: Builder, result: unknown, options: FinishOptions = {}): Builder => {
    const encoded = codec.encode(result)
    if (Either.isLeft(encoded)) return step.invalidate(self, { subject: "result", ...encoded.left })
    return step.end(self, {
      status: "DONE",
      outcome: options.outcome ?? null,
      result: encoded.right,
      carried: step.carriedResult(encoded.right)
    })
  }

const fail =
  ({ error: codec }: Contract) =>
  (self: Builder, error: unknown): Builder => {
    const encoded = codec.encode(error)
    if (Either.isLeft(encoded)) return step.invalidate(self, { subject: "error", ...encoded.left })
    return step.change(self, { status: "FAILED", error: describe(error), result: encoded.right })
  }

const spawn =
  ({ children }: Contract) =>
  (self: Builder, key: string, input: unknown, { id }: SpawnOptions = {}): Builder => {
    const child = children.get(key)
    if (child === undefined) {
      return step.invalidate(self, { subject: "child", path: "", problem: `there are no children ${key}` })
    }
    const context = initialContext(child, input)
    if (Either.isLeft(context)) return step.invalidate(self, { subject: `input of child ${key}`, ...context.left })
    const made = { context: context.right, definition: child.name, definitionVersion: child.version }
    return Step.spawn(self, key, id === undefined ? made : { ...made, id })
  }

const run =
  ({ activities }: Contract) =>
  (self: Builder, name: string, payload?: unknown, { key }: RunOptions = {}): Builder => {
    const activity = activities.get(name)
    return activity === undefined
      ? step.invalidate(self, { subject: "activity", path: "", problem: `there is no activity ${name}` })
      : ask(self, activity, payload, key)
  }

const emit =
  ({ events }: Contract) =>
  (self: Builder, target: string, kind: string, payload: unknown, { after, at, id }: SendOptions = {}): Builder => {
    const subject = `payload of event ${kind}`
    const codec = events.get(kind)
    if (codec === undefined) return step.invalidate(self, { subject, path: "", problem: "there is no such event" })
    const data = codec.encode(payload)
    if (Either.isLeft(data)) return step.invalidate(self, { subject, ...data.left })
    const event = id === undefined ? { kind, data: data.right } : { kind, data: data.right, id }
    // as for what a client sends
    if (at !== undefined) return Step.emitAt(self, target, at, event)
    return after === undefined ? Step.emit(self, target, event) : Step.emitAfter(self, target, after, event)
  }

const onBuilder = (args: IArguments): boolean => Step.isBuilder(args[0])

/** The functions on steps in the types of a definition. */
export const make = (contract: Contract) => {
  const spawnOne = spawn(contract)
  const spawnAll = (self: Builder, key: string, inputs: Iterable<unknown>): Builder =>
    Array.from(inputs).reduce<Builder>((step, input) => spawnOne(step, key, input), self)

  return {
    finish: dual(onBuilder, finish(contract)),
    fail: dual(2, fail(contract)),
    armTimer: Step.armTimer,
    cancelTimer: Step.cancelTimer,
    spawn: dual(onBuilder, spawnOne),
    spawnAll: dual(3, spawnAll),
    runActivity: dual(onBuilder, run(contract)),
    emit: dual(onBuilder, emit(contract))
  }
}
