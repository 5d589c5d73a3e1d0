import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import * as GlobalValue from "effect/GlobalValue"
import type { FencingToken } from "../../Lease.js"
import { StoreRejected } from "../../StoreError.js"

/**
 * What must hold for a piece of work to be settled: the lease of this token is held, or who shares the lanes by other means says that the
 * lane is still this process's.
 */
export type Fence =
  | { readonly _tag: "Lease"; readonly token: FencingToken }
  | { readonly _tag: "Asked"; readonly isHeld: () => boolean }

/**
 * The fence of the work that a fiber does. It is not passed from hand to hand: a delivery is anybody's code, and what settles the work must
 * be fenced whether that code thinks of it or not.
 */
export const current: FiberRef.FiberRef<Fence | undefined> = GlobalValue.globalValue("holdfast/util/fence", () =>
  FiberRef.unsafeMake<Fence | undefined>(undefined)
)

/** Runs an effect under a fence, where there is one. */
export const under =
  (fence: Fence | undefined) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    fence === undefined ? effect : Effect.locally(effect, current, fence)

/** Runs an effect under a lease, where there is one. */
export const fencedBy = (
  token: FencingToken | undefined
): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  under(token === undefined ? undefined : { _tag: "Lease", token })

interface Call {
  readonly operation: string
  readonly executionId?: string | undefined
}

const lost = (call: Call, what: string): StoreRejected =>
  new StoreRejected({
    ...call,
    reason: "lease-lost",
    detail: `${what}: whoever has it now does the work, and nothing was written here`
  })

/** The error of a write that came after its lease was lost. */
export const leaseLost = (call: Call, { fence, holder, name, pool }: FencingToken): StoreRejected =>
  lost(
    call,
    `lease ${JSON.stringify(name)} of pool ${JSON.stringify(pool)} is not held by ${JSON.stringify(holder)} with fence ${fence} any more`
  )

export const isLeaseLost = (error: unknown): error is StoreRejected =>
  error instanceof StoreRejected && error.reason === "lease-lost"

const unfenced = Either.right(undefined)

/** The token that a write must be sent with, where its work is done under a lease; fails where the work is known to be another's by now. */
export const tokenOf = (
  fence: Fence | undefined,
  call: Call
): Either.Either<FencingToken | undefined, StoreRejected> => {
  if (fence === undefined) return unfenced
  if (fence._tag === "Lease") return Either.right(fence.token)
  return fence.isHeld() ? unfenced : Either.left(lost(call, "the lane is not this process's any more"))
}
