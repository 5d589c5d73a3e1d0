/**
 * Faults of a store that the simulation must find. Each takes the place of a backend as a process has it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded, EncodedCommit } from "holdfast/EncodedStore"
import type { Tamper } from "holdfast/testing/internal/simulation/processes"

export interface Mutation {
  readonly name: string
  /** What is said of it. */
  readonly found: RegExp
  readonly tamper: Tamper
}

/** A backend with another commit, which is used for each of several. */
const withCommit =
  (commit: (encoded: Encoded, commit: EncodedCommit) => ReturnType<Encoded["commit"]>): Tamper =>
  (encoded) => ({ ...encoded, commitEach: undefined, commit: (asked) => commit(encoded, asked) })

const atVersion = (data: string, version: number): string => data.replace(/"version":\s*\d+/, `"version":${version}`)

export const mutations: ReadonlyArray<Mutation> = [
  {
    name: "work is acknowledged before the commit that it causes",
    found: /never got it|waits for|is left/,
    tamper: withCommit((encoded, commit) =>
      commit.ack?._tag === "Outbox"
        ? Effect.zipRight(
            encoded.ackOutbox(commit.ack.seq, commit.fence),
            encoded.commit({ ...commit, ack: undefined })
          )
        : encoded.commit(commit)
    )
  },
  {
    name: "the version is not compared",
    found: /two commits of .* were acknowledged as its version/,
    tamper: withCommit((encoded, commit) =>
      Effect.flatMap(encoded.commit(commit), (outcome) => {
        if (outcome._tag !== "Conflict" || Option.isNone(outcome.found)) return Effect.succeed(outcome)
        const version = Number(outcome.found.value)
        return encoded.commit({ ...commit, version, data: atVersion(commit.data, version + 1) })
      })
    )
  },
  {
    name: "a lost answer counts as success",
    found: /was read at version|was acknowledged|never got it|acknowledged as its version/,
    tamper: withCommit((encoded, commit) =>
      Effect.catchTag(encoded.commit(commit), "StoreUnavailable", (error) =>
        error.outcome === "unknown" ? Effect.succeed({ _tag: "Applied" as const, seqs: [] }) : Effect.fail(error)
      )
    )
  },
  {
    name: "an event is acknowledged though it is not stored",
    found: /never got it/,
    tamper: (encoded) => ({
      ...encoded,
      enqueue: (emits) => Effect.catchAll(encoded.enqueue(emits), () => Effect.succeed(emits.emits.map((_, i) => i)))
    })
  },
  {
    name: "the ledger is not written",
    found: /its ledger does not have it|consumed .* twice|took effect twice/,
    tamper: withCommit((encoded, commit) => encoded.commit({ ...commit, processed: undefined }))
  },
  {
    name: "a lease changes hands without a new fence",
    found: /with the same fence/,
    tamper: (encoded) => ({
      ...encoded,
      leases: (pool) =>
        Effect.map(encoded.leases(pool), ({ leases, members }) => ({
          members,
          leases: leases.map((lease) => ({ ...lease, fence: 1 }))
        }))
    })
  },
  {
    name: "a timer is armed for an earlier time",
    found: /nobody has asked for/,
    tamper: withCommit((encoded, commit) =>
      encoded.commit({ ...commit, armed: commit.armed.map(({ fireAt, path }) => ({ path, fireAt: fireAt - 1 })) })
    )
  },
  {
    name: "a delayed event is released before its time",
    found: /before it was due/,
    tamper: (encoded) => ({ ...encoded, releaseDelayed: (now, limit) => encoded.releaseDelayed(now + 60, limit) })
  },
  {
    name: "a cancelled timer stays",
    found: /guard happened twice|guard fired for/,
    tamper: withCommit((encoded, commit) => encoded.commit({ ...commit, cancelled: [] }))
  },
  {
    name: "a read shows what was stored before",
    found: /was read at version/,
    tamper: (encoded) => {
      const seen = new Map<string, Effect.Effect.Success<ReturnType<Encoded["loadForEvent"]>>>()
      let reads = 0
      return {
        ...encoded,
        loadForEvents: undefined,
        loadForEvent: (id, eventId) => {
          const before = seen.get(id)
          if (before !== undefined && ++reads % 3 === 0) return Effect.succeed(before)
          return Effect.tap(encoded.loadForEvent(id, eventId), (found) => Effect.sync(() => void seen.set(id, found)))
        }
      }
    }
  },
  {
    name: "an activity that was asked for is not kept",
    found: /waits for .*work/,
    tamper: withCommit((encoded, commit) => encoded.commit({ ...commit, asked: { ...commit.asked, activities: [] } }))
  },
  {
    name: "a child that was asked for is not kept",
    found: /was never created|waits for .*child/,
    tamper: withCommit((encoded, commit) => encoded.commit({ ...commit, spawns: [] }))
  },
  {
    name: "a child is created, and stays to be created",
    found: /children/,
    tamper: (encoded) => ({
      ...withCommit((_, commit) =>
        encoded.commit(commit.ack?._tag === "Spawn" ? { ...commit, ack: undefined } : commit)
      )(encoded),
      ackSpawn: () => Effect.void
    })
  },
  {
    name: "a parent is not told that its child has ended",
    found: /never got it|waits for .*child/,
    tamper: withCommit((encoded, commit) =>
      encoded.commit({ ...commit, emits: commit.emits.filter(({ event }) => !event.includes('"Finished"')) })
    )
  },
  {
    name: "an activity ends, and stays",
    found: /activities|work happened twice/,
    tamper: (encoded) => ({ ...encoded, endActivity: () => Effect.succeed(true) })
  },
  {
    name: "a child is acknowledged, and now and then not created",
    found:
      /was never created|waits for .*(child|errand)|acknowledged as its version|was acknowledged|was read at version/,
    tamper: (encoded) => {
      let spawns = 0
      return withCommit((_, commit) =>
        commit.ack?._tag === "Spawn" && ++spawns % 3 === 0
          ? Effect.as(encoded.ackSpawn(commit.ack.seq, commit.fence), { _tag: "Applied" as const, seqs: [] })
          : encoded.commit(commit)
      )(encoded)
    }
  },
  {
    name: "a child that is there is created once more",
    found: /two commits of .* were acknowledged as its version 1/,
    tamper: (encoded) => ({
      ...withCommit((_, commit) => {
        if (commit.ack?._tag !== "Spawn") return encoded.commit(commit)
        return Effect.map(encoded.commit({ ...commit, ack: undefined }), (outcome) =>
          outcome._tag === "Applied" ? outcome : { _tag: "Applied" as const, seqs: [] }
        )
      })(encoded),
      ackSpawn: () => Effect.void
    })
  },
  {
    name: "the outcome of a child that has not gone well is not told",
    found: /never got it|waits for .*errand/,
    tamper: withCommit((encoded, commit) =>
      encoded.commit({
        ...commit,
        emits: commit.emits.filter(({ event }) => !/"Finished".*"(failure|cancelled)"/s.test(event))
      })
    )
  },
  {
    name: "activities of processes that are gone stay with them",
    found: /activities|waits for .*work/,
    tamper: (encoded) => ({ ...encoded, releaseOrphans: Effect.succeed(0), activityOwners: () => Effect.succeed([]) })
  }
]
