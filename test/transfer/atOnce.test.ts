import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Transfer from "holdfast/Transfer"
import { long, longer } from "../support/extent.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as temp from "../support/temp.js"

type Pair = readonly [ExecutionStore, ExecutionStore]

const twice = <E, R>(store: Effect.Effect<ExecutionStore, E, R>) => Effect.all([store, store])

/** Two that have opened one store, as two programs do. */
const stores: ReadonlyArray<readonly [name: string, Effect.Effect<Pair, unknown, Scope.Scope>]> = [
  ["SQLite", Effect.flatMap(temp.database, (filename) => twice(SqliteStore.make({ filename })))],
  [
    "a libSQL file",
    Effect.flatMap(temp.database, (filename) =>
      twice(Effect.map(LibsqlStore.make({ url: `file:${filename}` }), ({ store }) => store))
    )
  ],
  [
    "rqlite",
    Effect.flatMap(RqliteServer.make(), ({ urls }) =>
      twice(
        Effect.map(Layer.build(Layer.provide(RqliteStore.layer({ urls }), NodeHttpClient.layerUndici)), (context) =>
          Context.get(context, ExecutionStore)
        )
      )
    )
  ]
]

const exported = (store: ExecutionStore) =>
  Stream.mkString(Stream.provideService(Transfer.exportText(), ExecutionStore, store))

const imported = <E>(store: ExecutionStore, text: Stream.Stream<string, E>, replace = false) =>
  Effect.provideService(Transfer.importText(text, { pageSize: 2, replace }), ExecutionStore, store)

// The statements are the same on all.
const some = long ? [1, 4] : [4]

/** The export of a store with some executions of a definition. */
const exportOf = (definitionId: string) =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: ":memory:" })
    for (let i = 0; i < 4; i++) yield* store.save(Execution.make({ id: `x-${i}`, definitionId }))
    return yield* exported(store)
  })

/** The lines of a text, with something that happens behind the one of this number. */
const interrupted = <E>(text: string, behind: number, happens: Effect.Effect<unknown, E>) =>
  Stream.mapEffect(Stream.fromIterable(text.split(/(?<=\n)/).entries()), ([i, line]) =>
    i === behind ? Effect.as(happens, line) : Effect.succeed(line)
  )

describe("imports into one store at once", () => {
  for (const [name, make] of stores) {
    it.scopedLive((name === "SQLite" ? String : longer)(`never mix on ${name}: one goes on, the other stops`), () =>
      Effect.gen(function* () {
        const [one, another] = yield* make
        const [text, other] = yield* Effect.all([exportOf("order"), exportOf("parcel")])
        const empty = yield* exported(one)
        const clear = imported(one, Stream.make(empty), true)

        // Behind its first line nothing of the first is there, behind the fourth a page is.
        for (const behind of name === "SQLite" ? [1, 4] : some) {
          yield* clear
          const same = interrupted(text, behind, imported(another, Stream.make(text)))
          const stopped = yield* Effect.flip(imported(one, same))
          expect(stopped).toMatchObject({ _tag: "ImportRefused", reason: "under-way" })
          expect(yield* exported(one)).toBe(text)

          yield* clear
          const replaced = interrupted(text, behind, imported(another, Stream.make(other), true))
          const taken = yield* Effect.flip(imported(one, replaced))
          expect(taken).toMatchObject({ _tag: "ImportRefused", reason: "under-way" })
          expect(yield* exported(one)).toBe(other)
        }

        yield* clear
        const exits = yield* Effect.all(
          [one, another].map((store) => Effect.exit(imported(store, Stream.make(text)))),
          { concurrency: "unbounded" }
        )
        expect(exits.some(Exit.isSuccess)).toBe(true)
        expect(yield* exported(one)).toBe(text)
      })
    )
  }
})
