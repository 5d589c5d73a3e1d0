import * as fs from "node:fs/promises"
import { dirname } from "node:path"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Step from "holdfast/Step"
import type { StoreConflict, StoreError } from "holdfast/StoreError"
import { available } from "../support/sqliteLibraries.js"
import * as Temp from "../support/temp.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })

const meaning =
  "a file of the database was deleted, moved or replaced while it was open, and what is written now would be lost with it: put it back, or end this process and open the store again"

const ignore: Processor.Transition = (execution, event) => Step.make(execution, event)

/** A change of files, after which the event loop has had its turn, as it has between what two processes do. */
const files = (run: () => Promise<unknown>) => Effect.promise(() => run().then(() => setImmediate()))

describe.each(available)("a file that is open, by %s,", (driver) => {
  const open = (filename: string) => SqliteStore.make({ filename, driver })

  /** That neither writes nor reads are answered, and why. */
  const assertRefused = (store: ExecutionStore.ExecutionStore, why: string) =>
    Effect.gen(function* () {
      // A read is refused before a write has been, too.
      const operations: ReadonlyArray<Effect.Effect<unknown, StoreConflict | StoreError>> = [
        store.load("order-1"),
        store.commit(order),
        store.pendingOutbox(),
        store.load("order-1")
      ]
      for (const operation of operations) {
        const error = yield* Effect.flip(operation)
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "open", detail: `${meaning}: ${why}` })
      }
    })

  const cases: ReadonlyArray<{
    readonly what: string
    readonly change: (filename: string) => Promise<unknown>
    readonly why: (filename: string) => string
    readonly undo?: (filename: string) => Promise<unknown>
  }> = [
    {
      what: "is deleted",
      change: (filename) => fs.rm(filename),
      why: (filename) => `${filename} is not there`
    },
    {
      what: "is moved away",
      change: (filename) => fs.rename(filename, `${filename}.old`),
      why: (filename) => `${filename} is not there`,
      undo: (filename) => fs.rename(`${filename}.old`, filename)
    },
    {
      what: "is replaced by a copy",
      change: async (filename) => {
        await fs.copyFile(filename, `${filename}.copy`)
        await fs.rename(filename, `${filename}.old`)
        await fs.rename(`${filename}.copy`, filename)
      },
      why: (filename) => `${filename} is another file now`,
      undo: (filename) => fs.rename(`${filename}.old`, filename)
    },
    {
      what: "loses its write-ahead log",
      change: (filename) => fs.rm(`${filename}-wal`),
      why: (filename) => `${filename}-wal is not there`
    },
    {
      what: "is moved with its directory",
      change: (filename) => fs.rename(dirname(filename), `${dirname(filename)}-moved`),
      why: (filename) => `${filename} is not there`,
      undo: (filename) => fs.rename(`${dirname(filename)}-moved`, dirname(filename))
    }
  ]
  /** As if nothing had happened in the folder of a file for long: then only the folder is asked. */
  const age = (filename: string) => files(() => fs.utimes(dirname(filename), new Date(0), new Date(0)))

  const ages = [
    ["", () => Effect.void],
    [", in a folder in which nothing has happened for long", age]
  ] as const

  for (const { change, undo, what, why } of cases) {
    for (const [where, prepare] of ages) {
      const until = undo === undefined ? "" : " until it is put back"
      it.scoped(`and ${what}${where}, is written and read no more${until}`, () =>
        Effect.gen(function* () {
          const filename = yield* Temp.database
          const store = yield* open(filename)
          yield* prepare(filename)
          yield* store.commit(order)
          yield* files(() => change(filename))
          yield* assertRefused(store, why(filename))
          if (undo === undefined) return
          yield* files(() => undo(filename))
          const found = Option.getOrThrow(yield* store.load("order-1"))
          assert.strictEqual(found.version, 1)
          assert.strictEqual((yield* store.commit(found)).execution.version, 2)
        })
      )
    }
  }

  it.scoped("and gets others beside it, which come and go, is written as before", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* open(filename)
      yield* age(filename)
      const { execution } = yield* store.commit(order)
      yield* files(() => fs.writeFile(`${filename}.other`, ""))
      const next = yield* store.commit(execution)
      yield* files(() => fs.rm(`${filename}.other`))
      assert.strictEqual((yield* store.commit(next.execution)).execution.version, 3)
      yield* files(() => fs.rm(filename))
      yield* assertRefused(store, `${filename} is not there`)
    })
  )

  it.scoped("and deleted amid commits that wait for each other, takes none of them", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* open(filename)
      yield* files(() => fs.rm(filename))
      const commits = Array.from({ length: 20 }, (_, i) =>
        Effect.flip(store.commit(Execution.make({ id: `e-${i}`, definitionId: "d" })))
      )
      const errors = yield* Effect.all(commits, { concurrency: "unbounded" })
      for (const error of errors) assert.deepInclude(error, { _tag: "StoreRejected", reason: "open" })
    })
  )

  it.scoped("through a link that then leads elsewhere, is written and read no more", () =>
    Effect.gen(function* () {
      const [filename, other] = yield* Effect.all([Temp.database, Temp.database])
      yield* Effect.scoped(open(other))
      yield* Effect.scoped(open(filename))
      const link = `${filename}.link`
      yield* files(() => fs.symlink(filename, link))
      const store = yield* open(link)
      yield* store.commit(order)
      yield* files(() => fs.rm(link))
      yield* files(() => fs.symlink(other, link))
      yield* assertRefused(store, `${link} is another file now`)
    })
  )

  it.scoped("by a path that is relative, stays the same where the process goes elsewhere", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const before = process.cwd()
      const go = (to: string) => Effect.sync(() => process.chdir(to))
      const store = yield* Effect.acquireUseRelease(
        go(dirname(filename)),
        () => open("store.db"),
        () => go(before)
      )
      yield* store.commit(order)
      yield* files(() => fs.rm(filename))
      yield* assertRefused(store, `${filename} is not there`)
    })
  )
})

describe("a runtime whose file is deleted", () => {
  it.scoped("is not ready, and says why", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const Live = ExecutionRuntime.layer({ definitions: { order: ignore } }).pipe(
        Layer.provideMerge(SqliteStore.layer({ filename }))
      )
      yield* Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime.ExecutionRuntime
        assert.isTrue((yield* runtime.health).ready)
        yield* files(() => fs.rm(filename))
        yield* TestClock.adjust("2 seconds")
        const { problems, ready } = yield* runtime.health
        assert.isFalse(ready)
        assert.include(problems.join("; "), `${filename} is not there`)
      }).pipe(Effect.provide(Live))
    })
  )
})
