import type * as Duration from "effect/Duration"
import type * as Activity from "../../Activity.js"
import type { Spec, SpecOf } from "../../Definition.js"
import type { Builder, RunOptions } from "../../Step.js"
import type { SendOptions } from "./client.js"

/**
 * Functions on steps in the types of the definition, beside those of `Step`. Where a value does not encode, the step fails with
 * `StepInvalid` and nothing is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Steps<in out S extends Spec> {
  /** The execution is `DONE`, with this result. A parent is told. */
  // With the step first: a step is a result too where all of its fields are optional, as it is decided at run time.
  readonly finish: {
    (
      self: Builder<S["context"]>,
      result: S["result"],
      options?: { readonly outcome?: string | undefined }
    ): Builder<S["context"]>
    (
      result: S["result"],
      options?: { readonly outcome?: string | undefined }
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
  }

  /** The execution is `FAILED`, with this error. A parent is not told: a failed execution waits to be redriven. */
  readonly fail: {
    (error: S["error"]): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, error: S["error"]): Builder<S["context"]>
  }

  /** Arms a timer, to fire after a delay that counts from the begin of the step. A timer of this name that is armed already is replaced. */
  readonly armTimer: {
    (name: S["timers"], delay: Duration.DurationInput): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, name: S["timers"], delay: Duration.DurationInput): Builder<S["context"]>
  }

  /** Cancels a timer, where it is armed. */
  readonly cancelTimer: {
    (name: S["timers"]): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, name: S["timers"]): Builder<S["context"]>
  }

  /** Starts a child under a key. Its id is `<parent>:<key>:<n>` unless `id` is given. */
  readonly spawn: {
    <K extends keyof S["children"] & string>(
      key: K,
      input: SpecOf<S["children"][K]>["input"],
      options?: { readonly id?: string | undefined }
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    <K extends keyof S["children"] & string>(
      self: Builder<S["context"]>,
      key: K,
      input: SpecOf<S["children"][K]>["input"],
      options?: { readonly id?: string | undefined }
    ): Builder<S["context"]>
  }

  /** Starts a child under a key for each input. */
  readonly spawnAll: {
    <K extends keyof S["children"] & string>(
      key: K,
      inputs: Iterable<SpecOf<S["children"][K]>["input"]>
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    <K extends keyof S["children"] & string>(
      self: Builder<S["context"]>,
      key: K,
      inputs: Iterable<SpecOf<S["children"][K]>["input"]>
    ): Builder<S["context"]>
  }

  /** Asks for an activity of the definition: see `Step.run`. */
  readonly runActivity: {
    <K extends keyof S["activities"] & string>(
      name: K,
      payload: Activity.Payload<S["activities"][K]>,
      options?: RunOptions
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    <K extends keyof S["activities"] & string>(
      self: Builder<S["context"]>,
      name: K,
      payload: Activity.Payload<S["activities"][K]>,
      options?: RunOptions
    ): Builder<S["context"]>
  }

  /** Sends an event to an execution of this definition, from a step of any definition, in the commit of that step. */
  readonly emit: {
    <K extends keyof S["events"] & string>(
      id: string,
      kind: K,
      payload: S["events"][K],
      options?: SendOptions
    ): <Context>(self: Builder<Context>) => Builder<Context>
    <Context, K extends keyof S["events"] & string>(
      self: Builder<Context>,
      id: string,
      kind: K,
      payload: S["events"][K],
      options?: SendOptions
    ): Builder<Context>
  }
}
