import * as Schema from "effect/Schema"
import { printable } from "../util/printable.js"

/**
 * The parent of a spawn does not exist any more, and only the parent says which definition the child follows.
 *
 * @since 0.1.0
 * @category errors
 */
export class ParentNotFound extends Schema.TaggedError<ParentNotFound>("holdfast/SpawnRelay/ParentNotFound")(
  "ParentNotFound",
  { parentId: Schema.String, childId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `child ${JSON.stringify(this.childId)} has no parent ${JSON.stringify(this.parentId)} to take its definition from: give the relay a \`child\` that knows it, or remove the spawn`
    )
  }
}

/**
 * There is an execution of the child's id already, and it is another: one of a user's own, another parent's child, or a child of an
 * earlier spawn of the same parent that has ended. The spawn is a dead letter then, with the reason `"id-taken"`, and the parent is sent
 * `Finished` with the outcome `rejected`, unless the child is `orphaned`: its parent is gone. `owner` is the parent of the execution that
 * has the id.
 *
 * @since 0.1.0
 * @category errors
 */
export class ChildIdTaken extends Schema.TaggedError<ChildIdTaken>("holdfast/SpawnRelay/ChildIdTaken")("ChildIdTaken", {
  parentId: Schema.String,
  childId: Schema.String,
  owner: Schema.NullOr(Schema.String),
  orphaned: Schema.Boolean
}) {
  /** @since 0.1.0 */
  override get message(): string {
    const owner =
      this.owner === null
        ? "an execution without a parent"
        : this.owner === this.parentId
          ? "a child that it spawned before and that has ended"
          : `a child of ${JSON.stringify(this.owner)}`
    return printable(
      `execution ${JSON.stringify(this.parentId)} spawned ${JSON.stringify(this.childId)}, which is ${owner}: spawn it under another id, or purge that one and redrive this`
    )
  }
}

/**
 * `child` made an execution with another id than that of the spawn.
 *
 * @since 0.1.0
 * @category errors
 */
export class ChildRejected extends Schema.TaggedError<ChildRejected>("holdfast/SpawnRelay/ChildRejected")(
  "ChildRejected",
  { parentId: Schema.String, childId: Schema.String, madeId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `execution ${JSON.stringify(this.parentId)} spawned ${JSON.stringify(this.childId)}, but \`child\` made ${JSON.stringify(this.madeId)}: it must keep the id`
    )
  }
}
