import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Runtime from "effect/Runtime"
import { printable, printableMembers } from "../util/printable.js"

const frames = (stack: string | undefined): ReadonlyArray<string> =>
  (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line))

/** The same error with printable texts: each stays on its line. */
const printableError = (error: Error, depth: number): Error => {
  const name = printable(error.name)
  const message = printable(error.message)
  const stack = [`${name}: ${message}`, ...frames(error.stack).map(printable)].join("\n")
  const cause = error.cause === undefined || depth === 0 ? undefined : printableReason(error.cause, depth - 1)
  return Object.create(error, {
    name: { value: name },
    message: { value: message },
    stack: { value: stack },
    cause: { value: cause }
  })
}

const printableReason = (reason: unknown, depth = 5): unknown =>
  reason instanceof Error ? printableError(reason, depth) : printable(Inspectable.toStringUnknown(reason, 0))

/** A cause with printable texts: what it holds may come from anywhere. */
export const printableCause = (cause: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  Cause.match(cause, {
    onEmpty: Cause.empty,
    onFail: (error): Cause.Cause<unknown> => Cause.fail(printableReason(error)),
    onDie: (defect) => Cause.die(printableReason(defect)),
    onInterrupt: Cause.interrupt,
    onSequential: Cause.sequential,
    onParallel: Cause.parallel
  })

type Log = (message: string, cause?: Cause.Cause<unknown>) => Effect.Effect<void>

const at =
  (log: (...message: ReadonlyArray<unknown>) => Effect.Effect<void>): Log =>
  (message, cause) =>
    Effect.suspend(() =>
      cause === undefined ? log(printable(message)) : log(printable(message), printableCause(cause))
    )

/** The log functions of this package. All its logs go through them, because they may hold texts that come from anywhere. */
export const debug: Log = at(Effect.logDebug)
export const info: Log = at(Effect.logInfo)
export const warning: Log = at(Effect.logWarning)
export const error: Log = at(Effect.logError)
export const fatal: Log = at(Effect.logFatal)

/** A runtime whose effects log with annotations, which takes a third of the time that {@link annotate} takes. */
export const annotatedRuntime = <R>(
  runtime: Runtime.Runtime<R>,
  annotations: { readonly [name: string]: string | number }
): Runtime.Runtime<R> => {
  let all = FiberRefs.getOrDefault(runtime.fiberRefs, FiberRef.currentLogAnnotations)
  for (const [name, value] of Object.entries(annotations))
    all = HashMap.set(all, name, typeof value === "string" ? printable(value) : value)
  return Runtime.setFiberRef(runtime, FiberRef.currentLogAnnotations, all)
}

/** Annotates what an effect logs, the user's own lines too. */
export const annotate = (annotations: {
  readonly [name: string]: string | number
}): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  Effect.annotateLogs(printableMembers(annotations))
