import * as Effect from "effect/Effect"
import { globalValue } from "effect/GlobalValue"
import * as Predicate from "effect/Predicate"
import type { World } from "./world.js"
import { Life } from "./processLife.js"

/** Where Effect keeps the fibers that have no parent, or have outlived it, until they end. */
const keeper: unknown = globalValue(Symbol.for("effect/FiberScope/Global"), () => undefined)

const roots: unknown = Predicate.hasProperty(keeper, "roots") ? keeper.roots : undefined

/**
 * Lets go of the fibers of a world that is over. They stand still for ever, as what stops dead does, and each would keep all of its world in
 * memory.
 */
export const forget = (world: World): Effect.Effect<void> =>
  Effect.sync(() => {
    if (!(roots instanceof Set)) return
    for (const fiber of roots) {
      if (!Predicate.hasProperty(fiber, "currentScheduler")) continue
      const { currentScheduler } = fiber
      if (currentScheduler instanceof Life && currentScheduler.world === world) roots.delete(fiber)
    }
  })
