import * as Effect from "effect/Effect"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import * as raw from "./internal/raw.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"
import { commits, through as throughStore } from "./internal/writers.js"

const topic = "Commit: 2 emits, 1 processed id, 1 timer, 1 trace step"

interface Case {
  readonly durability: raw.Durability
  readonly writers: number
  readonly bytes: number
}

const kib = 1024

const cases: ReadonlyArray<Case> = [
  { durability: "full", writers: 1, bytes: kib },
  { durability: "full", writers: 8, bytes: kib },
  { durability: "full", writers: 64, bytes: kib },
  { durability: "full", writers: 64, bytes: 16 * kib },
  { durability: "normal", writers: 1, bytes: kib },
  { durability: "normal", writers: 8, bytes: kib },
  { durability: "normal", writers: 64, bytes: kib }
]

/** Commits by better-sqlite3, the orders in turns: it cannot do two things at once. */
const byHand = (database: raw.Raw, { bytes, writers: orders }: Case, each: (step: () => void) => void) => {
  const context = order.contextOf(bytes)
  const current = measure.range(orders).map((i) => raw.newOrder(`order-${i}`, context))
  let events = 0
  return (): void => {
    const i = events % orders
    const id = `event-${events++}`
    each(() => {
      current[i] = database.commit(current[i] ?? raw.newOrder("none", context), id, order.sideWrites(id))
    })
  }
}

/** Each form on a file of its own, in turns. */
const compare = (settings: Settings, of: Case) =>
  Effect.gen(function* () {
    const { rounds, seconds, warmUp } = settings
    const { bytes, durability, writers } = of
    const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings), durability })
    const through = commits(throughStore(store), { writers, bytes })
    const first = yield* raw.make(yield* databaseFile(settings), durability)
    const alone = byHand(first, of, first.transaction)
    const second = yield* raw.make(yield* databaseFile(settings), durability)
    const together = byHand(second, of, (write) => write())
    yield* through(warmUp)
    return yield* measure.rounds(
      rounds,
      Effect.all({
        store: through(seconds),
        alone: measure.timedSync(() => measure.repeatFor(seconds, alone)),
        together: measure.timedSync(() => second.transaction(() => measure.repeatFor(seconds, together)))
      })
    )
  }).pipe(Effect.scoped)

const names = { alone: "better-sqlite3, a transaction each", together: "better-sqlite3, one transaction for all" }

/** What was asked for, where it was. */
const targets = ({ bytes, durability, writers }: Case) => {
  const asked = bytes === kib
  return {
    alone: asked && durability === "full" ? { 1: Figure.atLeast(0.85), 64: Figure.atLeast(3.5) }[writers] : undefined,
    together: asked && writers === 64 ? Figure.atLeast(0.5) : undefined,
    cpu: asked && writers === 64 ? Figure.atMost(2) : undefined
  }
}

const nameOf = ({ bytes, durability, writers }: Case): string =>
  `${durability.toUpperCase()}, ${writers} ${writers === 1 ? "writer" : "writers"}, ${bytes / kib} KiB of context`

export const commit: Topic = (settings) =>
  Effect.gen(function* () {
    const figures: Array<Figure.Figure> = []
    for (const of of cases) {
      const rounds = yield* compare(settings, of)
      const target = targets(of)
      const name = nameOf(of)
      for (const baseline of ["alone", "together"] as const) {
        const pairs = rounds.map((round) => ({
          value: measure.rate(round.store),
          baseline: measure.rate(round[baseline])
        }))
        const against = names[baseline]
        figures.push(Figure.make({ topic, name, unit: "/s", against, rounds: pairs, target: target[baseline] }))
      }
      const processor = rounds.map((round) => ({
        value: measure.cpuMicros(round.store),
        baseline: measure.cpuMicros(round.alone)
      }))
      figures.push(
        Figure.make({
          topic,
          name: `${name}, processor`,
          unit: "us",
          against: names.alone,
          rounds: processor,
          target: target.cpu
        })
      )
    }
    return figures
  })
