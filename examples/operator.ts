import { Console, Effect, Option } from "effect"
import { Control, ExecutionStore } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"

// operator.ts FILE COMMAND [ID]: does one thing to a store, from a process without workers.
const [filename = "orders.db", command = "stats", id = ""] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const store = yield* ExecutionStore.ExecutionStore
  const control = yield* Control.make()
  switch (command) {
    case "suspend":
    case "resume":
    case "cancel":
    case "terminate":
    case "redrive":
    case "purge": {
      const { changed, corrupt } = yield* control[command](id)
      for (const row of corrupt) yield* Console.error(row.message)
      return yield* Console.log(`${command}: ${changed.length === 0 ? "nothing to do" : changed.join(" ")}`)
    }
    case "dead-letters": {
      const { entries } = yield* store.deadLetters.list()
      for (const { attempts, error, executionId, id, reason } of entries) {
        yield* Console.log(`${id} ${executionId ?? "-"} ${reason} after ${attempts}: ${error}`)
      }
      return
    }
    case "try-again": // a dead letter, by its number
      return yield* Console.log(
        (yield* store.deadLetters.redrive(Number(id))) ? "it is pending again" : "it could not be put back"
      )
    case "discard":
      return yield* Console.log(
        (yield* store.deadLetters.discard(Number(id))) ? "discarded" : "there is none of this number"
      )
    default: {
      const { deadLetters, outbox, spawns, timers } = yield* store.stats
      const since = Option.match(outbox.oldest, {
        onNone: () => "",
        onSome: (oldest) => ` since ${new Date(oldest * 1000).toISOString()}`
      })
      return yield* Console.log(
        `${outbox.count} events${since}, ${spawns.count} spawns, ${timers.due} timers due, ${deadLetters.count} dead letters`
      )
    }
  }
})

await program.pipe(
  Effect.catchAll((error) => Console.error(error.message)),
  Effect.provide(SqliteStore.layer({ filename })),
  Effect.runPromise
)
