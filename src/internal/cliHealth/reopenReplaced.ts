import { stat } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type OpenStore, open } from "../cli/openStore.js"
import { type Common, named } from "../cli/options.js"

/** What is another text when another file is there, or this one was written to; none where there is no file. */
const stampOf = (filename: string): Effect.Effect<string | undefined> =>
  Effect.promise(() =>
    stat(filename, { bigint: true }).then(
      ({ dev, ino, mtimeNs, size }) => [dev, ino, mtimeNs, size].join(),
      () => undefined
    )
  )

/** A file that is open, as it was when it was opened. */
interface Held {
  stamp: string | undefined
  opened: OpenStore | undefined
  scope: Scope.CloseableScope | undefined
}

const close = (held: Held): Effect.Effect<void> => {
  const { scope } = held
  held.opened = undefined
  held.scope = undefined
  return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
}

/**
 * A look at the store that its options name, to be taken again and again. A file that is replaced, as by a backup that is put in its place, is
 * opened anew: what is open would be the old one for ever.
 */
export const reopenReplaced = <E, R>(options: Common, use: (opened: OpenStore) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const { name, prefix } = yield* named(options)
    const opening = open(name, prefix, "read")
    if (!("filename" in name)) {
      const opened = yield* opening
      return use(opened)
    }
    const nothing: Held = { stamp: undefined, opened: undefined, scope: undefined }
    const held = yield* Effect.acquireRelease(Effect.succeed(nothing), close)
    return Effect.gen(function* () {
      const stamp = yield* stampOf(name.filename)
      if (held.opened !== undefined && stamp !== undefined && held.stamp === stamp) return yield* use(held.opened)
      yield* close(held)
      const scope = yield* Scope.make()
      held.scope = scope
      held.stamp = stamp
      const opened = yield* Scope.extend(opening, scope)
      held.opened = opened
      yield* use(opened)
    })
  })
