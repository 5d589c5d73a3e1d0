/**
 * What the startup bench starts: a process that sends one event to one execution and ends when that is committed, with Holdfast or by better-sqlite3
 * alone. Prints when it had loaded its modules, opened its file, and was done, in milliseconds since the process began.
 */
const [form = "holdfast", filename = ""] = process.argv.slice(2)

const times: Array<number> = []
const mark = (): void => {
  times.push(performance.now())
}

const byHand = async (): Promise<void> => {
  const { default: Sqlite } = await import("better-sqlite3")
  mark()
  const database = new Sqlite(filename)
  database.pragma("journal_mode = WAL")
  database.exec("CREATE TABLE e (id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID")
  mark()
  database.prepare("INSERT INTO e VALUES (?, ?)").run("order-1", JSON.stringify({ status: "RUNNING" }))
  database.prepare("UPDATE e SET data = ? WHERE id = ?").run(JSON.stringify({ status: "DONE" }), "order-1")
  mark()
  database.close()
}

const throughRuntime = async (): Promise<void> => {
  const [Effect, Deferred, Event, Execution, ExecutionRuntime, { ExecutionStore }, SqliteStore] = await Promise.all([
    import("effect/Effect"),
    import("effect/Deferred"),
    import("holdfast/Event"),
    import("holdfast/Execution"),
    import("holdfast/ExecutionRuntime"),
    import("holdfast/ExecutionStore"),
    import("holdfast/SqliteStore")
  ])
  mark()
  await Effect.runPromise(
    Effect.gen(function* () {
      const store = yield* SqliteStore.make({ filename })
      const done = yield* Deferred.make<void>()
      const runtime = yield* ExecutionRuntime.make({
        definitions: { order: (execution) => Effect.succeed({ execution: { ...execution, status: "DONE" } }) }
      }).pipe(Effect.provideService(ExecutionStore, store))
      yield* store.listen(({ committed }) => {
        if (committed._tag === "Some" && committed.value.execution.status === "DONE")
          Deferred.unsafeDone(done, Effect.void)
      })
      mark()
      yield* runtime.create(Execution.make({ id: "order-1", definitionId: "order", status: "RUNNING" }))
      yield* runtime.send("order-1", Event.make({ id: "paid", kind: "Paid" }))
      yield* Deferred.await(done)
      mark()
    }).pipe(Effect.scoped)
  )
}

await (form === "raw" ? byHand() : throughRuntime())
process.stdout.write(JSON.stringify(times))
