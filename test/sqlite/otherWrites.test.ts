import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as OtherWrites from "holdfast/internal/sqlite/otherWrites"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { event, execution, note, recorder } = Support

/** Two stores on one file, as two processes have them. */
const two = Effect.flatMap(Temp.database, (filename) =>
  Effect.all([SqliteStore.make({ filename }), SqliteStore.make({ filename })])
)

it.scopedLive("a store tells of what another one writes to its file, and not of its own writes", () =>
  Effect.gen(function* () {
    const [store, other] = yield* two
    const heard = yield* Deferred.make<void>()
    let calls = 0
    yield* store.listenToOthers(() => {
      calls++
      Deferred.unsafeDone(heard, Effect.void)
    })
    yield* store.save(execution("own"))
    yield* store.enqueue([{ targetId: "own", event: event("own") }])
    yield* other.save(execution("other"))
    yield* Deferred.await(heard)
    assert.strictEqual(calls, 1)
    assert.isTrue(Option.isSome(yield* store.load("other")))
  })
)

it.scopedLive("nobody is told any more who has ended", () =>
  Effect.gen(function* () {
    const [store, other] = yield* two
    let ended = 0
    yield* Effect.scoped(store.listenToOthers(() => ended++))
    const heard = yield* Deferred.make<void>()
    yield* store.listenToOthers(() => Deferred.unsafeDone(heard, Effect.void))
    yield* other.save(execution("other"))
    yield* Deferred.await(heard)
    assert.strictEqual(ended, 0)
  })
)

const looking = Effect.suspend(() => {
  let looks = 0
  let watched = 0
  const listen = OtherWrites.make({
    watch: () => {
      watched++
      return () => watched--
    },
    look: () => {
      looks++
      return false
    }
  })
  const looked = Effect.map(
    listen(() => {}),
    () => [looks, watched]
  )
  return Effect.tap(Effect.scoped(looked), () => assert.strictEqual(watched, 0))
})

it.effect("under the clock of a test nothing is looked at", () =>
  Effect.map(looking, (looked) => assert.deepStrictEqual(looked, [0, 0]))
)

it.live("under the real clock it is looked at, and the file watched, where somebody begins to listen", () =>
  Effect.map(looking, (looked) => assert.deepStrictEqual(looked, [1, 1]))
)

// Long enough that no poll finds what is waited for.
const never = "1 hour"

it.scopedLive("workers do at once what another process leaves to do: events, children, timers, delayed events", () =>
  Effect.gen(function* () {
    const [store, other] = yield* two
    const seen = new Map<string, Deferred.Deferred<void>>()
    for (const id of ["sent", "armed", "delayed", "child"]) seen.set(id, yield* Deferred.make<void>())
    const transition = Effect.fn(function* (...[given, happened]: Parameters<typeof recorder>) {
      const done = seen.get(given.id)
      if (done !== undefined) yield* Deferred.succeed(done, undefined)
      return { execution: note(given, happened) }
    })
    yield* Effect.provideService(
      ExecutionRuntime.make({ definitions: { recorder: transition }, pollInterval: never, timerInterval: never }),
      ExecutionStore.ExecutionStore,
      store
    )
    const soon = (yield* Support.now) + 0.02
    yield* other.save(execution("sent"))
    yield* other.enqueue([{ targetId: "sent", event: event("e") }])
    yield* other.commit(execution("armed"), { timers: [Commit.scheduleTimer("t", soon)] })
    yield* other.save(execution("delayed"))
    yield* other.enqueue([{ targetId: "delayed", event: event("e"), dueAt: soon }])
    yield* other.commit(execution("parent"), {
      spawns: [{ childId: "child", rootPath: "", context: { __invoke_fqn__: "recorder" } }]
    })
    for (const done of seen.values()) yield* Deferred.await(done)
  })
)
