/**
 * How activities can fail beside their own errors.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { printable } from "./internal/util/printable.js"

const at = {
  activity: Schema.String,
  executionId: Schema.String,
  key: Schema.String,
  attempt: Schema.Int
}

const named = ({ activity, executionId, key }: { activity: string; executionId: string; key: string }): string =>
  `activity ${JSON.stringify(activity)} (key ${JSON.stringify(key)}) of execution ${JSON.stringify(executionId)}`

/**
 * An attempt took longer than the activity's `timeout`, `after` seconds, and was interrupted.
 *
 * @since 0.1.0
 * @category errors
 */
export class ActivityTimedOut extends Schema.TaggedError<ActivityTimedOut>("holdfast/ActivityError/ActivityTimedOut")(
  "ActivityTimedOut",
  { ...at, after: Schema.Number }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `${named(this)} took more than ${this.after} seconds and was interrupted (attempt ${this.attempt})`
    )
  }
}

/**
 * An attempt died: its handler threw, was interrupted by itself, or gave what its schemas do not encode. `reason` says what, for people.
 *
 * @since 0.1.0
 * @category errors
 */
export class ActivityDied extends Schema.TaggedError<ActivityDied>("holdfast/ActivityError/ActivityDied")(
  "ActivityDied",
  { ...at, reason: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`${named(this)} died (attempt ${this.attempt}): ${this.reason}`)
  }
}

/**
 * The activity was cancelled by an operator before it ended. What of it was done already, nobody knows.
 *
 * @since 0.1.0
 * @category errors
 */
export class ActivityCancelled extends Schema.TaggedError<ActivityCancelled>(
  "holdfast/ActivityError/ActivityCancelled"
)("ActivityCancelled", at) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`${named(this)} was cancelled`)
  }
}

/**
 * The runtime has an implementation of this activity already.
 *
 * @since 0.1.0
 * @category errors
 */
export class ActivityRegistered extends Schema.TaggedError<ActivityRegistered>(
  "holdfast/ActivityError/ActivityRegistered"
)("ActivityRegistered", { activity: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `activity ${JSON.stringify(this.activity)} is registered already: provide one layer of it to a runtime, or give the activities different names`
    )
  }
}

/**
 * What was to implement an activity does not: `problem` says why.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidActivityHandler extends Schema.TaggedError<InvalidActivityHandler>(
  "holdfast/ActivityError/InvalidActivityHandler"
)("InvalidActivityHandler", { activity: Schema.String, problem: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`activity ${JSON.stringify(this.activity)} cannot be implemented so: ${this.problem}`)
  }
}
