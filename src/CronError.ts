/**
 * What the functions of `Cron` can fail with, beside the failures of the store.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { printable } from "./internal/util/printable.js"

/**
 * Recurring work of this name cannot be registered so: its schedule is no cron expression or never comes, there is no such time zone, an
 * option is not one, or the ids made of its name are too long. `problem` says which. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidCron extends Schema.TaggedError<InvalidCron>("holdfast/CronError/InvalidCron")("InvalidCron", {
  cron: Schema.String,
  problem: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`cron ${JSON.stringify(this.cron)} cannot be registered so: ${this.problem}`)
  }
}

/**
 * The store has no recurring work of this name: it was never registered, or it was removed.
 *
 * @since 0.1.0
 * @category errors
 */
export class CronMissing extends Schema.TaggedError<CronMissing>("holdfast/CronError/CronMissing")("CronMissing", {
  cron: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`there is no cron ${JSON.stringify(this.cron)}: it was never registered, or it was removed`)
  }
}
