import * as Effect from "effect/Effect"
import * as Order from "effect/Order"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { Pool } from "../../Lease.js"
import { show } from "../codec/reader.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import * as validate from "../codec/validate.js"
import { type Backend, seconds } from "./backend.js"

const byName = <A>(nameOf: (item: A) => string): Order.Order<A> =>
  Order.make((a: A, b: A) => {
    const order = compareUtf8(nameOf(a), nameOf(b))
    return order < 0 ? -1 : order > 0 ? 1 : 0
  })

const checkNames = (call: validate.Call, names: { readonly [path: string]: string }) =>
  Effect.forEach(Object.entries(names), ([path, name]) => validate.refuse(call, path, validate.leaseName(name)), {
    discard: true
  })

const ttlProblem = (ttl: number): string | undefined =>
  Number.isFinite(ttl) && ttl > 0 ? undefined : `expected seconds above 0, found ${show(ttl)}`

const sorted = ({ leases, members }: Pool): Pool => ({
  members: members.toSorted(byName((member) => member.holder)),
  leases: leases.toSorted(byName((lease) => lease.name))
})

/** Leases, checked on their way in and put into order on their way out. */
export const make = ({ encoded }: Backend): ExecutionStore["leases"] => ({
  load: (pool) =>
    Effect.gen(function* () {
      yield* checkNames({ operation: "leases" }, { pool })
      return sorted(yield* encoded.leases(pool))
    }),

  pools: Effect.map(encoded.leasePools, (pools) =>
    pools.map(({ name, ...pool }) => ({ name, ...sorted(pool) })).toSorted(byName(({ name }) => name))
  ),

  renew: ({ claim = [], evict = [], holder, pool, release = [], ttl }) =>
    Effect.gen(function* () {
      const call = { operation: "renewLeases" }
      const names = (path: string, names: ReadonlyArray<string>) =>
        checkNames(call, Object.fromEntries(names.map((name, i) => [`${path}[${i}]`, name])))
      yield* checkNames(call, { pool, holder })
      yield* validate.refuse(call, "ttl", ttlProblem(ttl))
      yield* names("claim", claim)
      yield* names(
        "release",
        release.map((lease) => lease.name)
      )
      for (const [i, { fence }] of release.entries()) {
        yield* validate.refuse(call, `release[${i}].fence`, validate.wholeNumber(fence, 0, Number.MAX_SAFE_INTEGER))
      }
      yield* names(
        "evict",
        evict.map((member) => member.holder)
      )
      for (const [i, { beat }] of evict.entries())
        yield* validate.refuse(call, `evict[${i}].beat`, validate.leaseName(beat))
      const self = evict.findIndex((member) => member.holder === holder)
      yield* validate.refuse(call, `evict[${self}]`, self === -1 ? undefined : "is the member that renews")
      const renewedAt = yield* seconds
      yield* encoded.renewLeases({ beat: yield* Ids.next, pool, holder, ttl, evict, release, claim, renewedAt })
    }),

  leave: (pool, holder) =>
    Effect.zipRight(checkNames({ operation: "leaveLeases" }, { pool, holder }), encoded.leaveLeases(pool, holder))
})
