import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { FencingToken } from "../../Lease.js"
import type { Call } from "../../SqlDriver.js"
import { StoreUnavailable } from "../../StoreError.js"
import { fenceParams } from "../sql/commitPlan.js"
import { leaseLost } from "../util/fence.js"
import type { Database, Failure } from "./database.js"
import * as pages from "./pages.js"

/** Whether a lease is held. One that is not will never be again under this token: its number grows each time that it is taken. */
export const isHeld = (database: Database, call: Call, fence: FencingToken): Effect.Effect<boolean, Failure> =>
  Effect.map(
    pages.first(database, call, database.sql.leases.isHeld, ...fenceParams(fence)),
    Option.exists(([held]) => held === 1)
  )

const unknown = ({ cause, detail, executionId, operation, reason }: StoreUnavailable): StoreUnavailable =>
  new StoreUnavailable({ operation, executionId, reason, outcome: "unknown", detail, cause })

/**
 * What a fenced write changed. Where that is nothing, what it was about is gone, or its lease is lost: then it fails. A write that was sent
 * twice may have been applied before the lease was lost; its row is gone, and whoever has the lease now finds nothing to do.
 */
export const changed = (
  database: Database,
  call: Call,
  fence: FencingToken | undefined,
  write: Effect.Effect<number, Failure>
): Effect.Effect<number, Failure> =>
  fence === undefined
    ? write
    : Effect.tap(write, (changes) =>
        changes > 0
          ? Effect.void
          : isHeld(database, call, fence).pipe(
              // What was sent twice may have been applied the first time.
              Effect.mapError((error) => (error._tag === "StoreUnavailable" ? unknown(error) : error)),
              Effect.flatMap((held) => (held ? Effect.void : Effect.fail(leaseLost(call, fence))))
            )
      )
