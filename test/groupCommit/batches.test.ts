import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as Ids from "holdfast/Ids"
import * as SqliteStore from "holdfast/SqliteStore"
import * as SqlStore from "holdfast/SqlStore"
import { extent, longer } from "../support/extent.js"
import * as Client from "../support/sqlClient.js"
import * as Temp from "../support/temp.js"

/** A commit, on what version of its execution it builds, and what it writes beside. */
interface Step {
  readonly id: string
  readonly behind: number
  readonly emits: number
  readonly processed: string
  readonly timers: ReadonlyArray<string>
  readonly trace: boolean
  readonly poisoned: boolean
}

const step: FastCheck.Arbitrary<Step> = FastCheck.record({
  id: FastCheck.constantFrom("a", "b", "c"),
  behind: FastCheck.constantFrom(0, 0, 0, 0, 1, 2),
  emits: FastCheck.integer({ min: 0, max: 6 }),
  processed: FastCheck.constantFrom("e1", "e2", "e3"),
  timers: FastCheck.array(FastCheck.constantFrom("p", "q", "r"), { maxLength: 3 }),
  trace: FastCheck.boolean(),
  poisoned: FastCheck.constantFrom(false, false, false, false, true)
})

const batches = FastCheck.array(FastCheck.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 })

/** The commits of all batches, on the versions that they would find if each that can be applied is. */
const toCommits = (batches: ReadonlyArray<ReadonlyArray<Step>>) => {
  const versions = new Map<string, number>()
  let n = 0
  return batches.map((steps) =>
    steps.map(({ behind, emits, id, poisoned, processed, timers, trace }) => {
      const current = versions.get(id) ?? 0
      const version = Math.max(0, current - behind)
      if (version === current && !poisoned) versions.set(id, current + 1)
      const name = `${n++}`
      const commit: Commit.Commit = {
        emits: Array.from({ length: emits }, (_, i) => ({
          targetId: i % 3 === 2 ? null : id,
          event: Event.make({ id: `${name}-${i}`, kind: "Told" })
        })),
        processed: poisoned ? "poison" : processed,
        timers: timers.map((path, i) => (i === 2 ? Commit.cancelTimer(path) : Commit.scheduleTimer(path, n + 0.5))),
        ...(trace ? { trace: Commit.traceStep({ eventKind: "Told", timestamp: n }) } : undefined)
      }
      return { execution: { ...Execution.make({ id, definitionId: "d", context: { name } }), version }, commit }
    })
  )
}

const tables = ["executions", "outbox", "processed_events", "timers", "trace", "holdfast_listing"]

const rowsOf = (client: SqlClient.SqlClient) =>
  Effect.forEach(tables, (table) => client.unsafe(`SELECT * FROM harel_${table} ORDER BY 1, 2`))

const refusal =
  "CREATE TRIGGER refuse BEFORE INSERT ON harel_processed_events WHEN NEW.event_id = 'poison' BEGIN SELECT RAISE(ABORT, 'poison'); END"

/** A store whose database refuses one event, the transactions that it began, and all that is in it. */
const open = (groupCommit: boolean) =>
  Effect.gen(function* () {
    const own = yield* Client.make()
    let begun = 0
    const client = yield* Client.intercepted(own, (connection) => ({
      executeRaw: (text, params) => {
        if (text === "BEGIN IMMEDIATE") begun++
        return connection.executeRaw(text, params)
      }
    }))
    const store = yield* Effect.provideService(SqlStore.make({ groupCommit }), SqlClient.SqlClient, client)
    yield* own.unsafe(refusal)
    begun = 0
    return { store, rows: rowsOf(own), begun: Effect.sync(() => begun) }
  })

/** The same of a store with a connection of its own, whose transactions need no fiber. */
const openFile = Effect.gen(function* () {
  const filename = yield* Temp.database
  const store = yield* SqliteStore.make({ filename })
  const other = yield* Client.make({ filename })
  yield* other.unsafe(refusal)
  return { store, rows: rowsOf(other), begun: Effect.succeed(0) }
})

const run = (
  given: ReadonlyArray<ReadonlyArray<Step>>,
  opened: typeof openFile | ReturnType<typeof open>,
  concurrency: "unbounded" | 1
) =>
  Effect.gen(function* () {
    const { begun, rows, store } = yield* opened
    const results = yield* Effect.forEach(toCommits(given), (commits) =>
      Effect.forEach(
        commits,
        ({ commit, execution }) =>
          Effect.match(store.commit(execution, commit), {
            onSuccess: ({ execution, seqs }) => ({ version: execution.version, seqs, error: "", found: 0 }),
            onFailure: (error) => ({
              version: execution.version,
              seqs: [],
              error: error._tag,
              found: error._tag === "StoreConflict" ? Option.getOrElse(error.found, () => 0) : 0
            })
          }),
        { concurrency }
      )
    )
    return { results, rows: yield* rows, begun: yield* begun }
  }).pipe(Effect.scoped, Effect.provide(Ids.layerSequential()))

type Ran = Effect.Effect.Success<ReturnType<typeof run>>

/** That both did the same. A conflict tells the version that there is when the batch is done. */
const assertSame = (together: Ran, alone: Ran) => {
  const bare = ({ results }: Ran) => results.map((batch) => batch.map(({ found, ...rest }) => rest))
  assert.deepStrictEqual(bare(together), bare(alone))
  assert.deepStrictEqual(together.rows, alone.rows)
  const found = ({ results }: Ran) => results.flat().map((result) => result.found)
  found(alone).forEach((version, i) => assert.isAtLeast(found(together)[i] ?? 0, version))
}

it.effect.prop(
  longer("batches of commits do what the same commits do one by one"),
  [batches],
  ([given]) =>
    Effect.gen(function* () {
      const together = yield* run(given, open(true), "unbounded")
      const alone = yield* run(given, open(false), 1)
      assertSame(together, alone)
      // One transaction a batch, and where one is refused, one more for each.
      const expected = given.map((steps, i) => {
        const refused = alone.results[i]?.some(({ error }) => error === "StoreRejected") ?? false
        return refused && steps.length > 1 ? 1 + steps.length : 1
      })
      assert.strictEqual(
        together.begun,
        expected.reduce((sum, count) => sum + count, 0)
      )
      assertSame(yield* run(given, openFile, "unbounded"), alone)
    }),
  { fastCheck: { numRuns: extent({ quick: 10, long: 40 }) } }
)
