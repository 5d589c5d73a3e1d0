import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Ids from "../../Ids.js"
import type { Options } from "../../Shards.js"
import type { StoreRejected } from "../../StoreError.js"
import { leaseName, wholeNumber } from "../codec/validate.js"
import * as duration from "../util/duration.js"
import { invalidOption } from "../util/invalidOption.js"

/** How lanes are shared: into `count` shards, whose leases have these `names` in this `pool`. */
export interface Settings {
  readonly count: number
  readonly holder: string
  readonly ttl: Duration.Duration
  readonly handover: Duration.Duration
  readonly interval: Duration.Duration
  readonly pool: string
  readonly names: ReadonlyArray<string>
}

const maxCount = 1024

const refuse = (path: string, problem: string | undefined): Effect.Effect<void, StoreRejected> =>
  problem === undefined ? Effect.void : invalidOption(path, problem)

const serviceName = (name: unknown): string | undefined =>
  leaseName(name) ?? (typeof name === "string" && name.length > 200 ? "longer than 200 characters" : undefined)

export const decode = (options: Options): Effect.Effect<Settings, StoreRejected> =>
  Effect.gen(function* () {
    const count = options.count ?? 32
    yield* refuse("count", wholeNumber(count, 1, maxCount))
    const ttl = yield* duration.decode(options.ttl ?? "10 seconds", "ttl")
    yield* refuse("ttl", Duration.lessThan(ttl, "1 second") ? "expected at least 1 second" : undefined)
    const handover = yield* duration.decode(options.handover ?? "500 millis", "handover")
    yield* refuse("handover", Duration.lessThan(handover, ttl) ? undefined : "expected less than ttl")
    const holder = options.holder ?? (yield* Ids.next)
    yield* refuse("holder", leaseName(holder))
    if (options.service !== undefined) yield* refuse("service", serviceName(options.service))
    return {
      count,
      holder,
      ttl,
      handover,
      interval: Duration.times(ttl, 1 / 3),
      pool: options.service === undefined ? `shards/${count}` : `shards/${count}/${options.service}`,
      names: Array.from({ length: count }, (_, i) => String(i))
    }
  })
