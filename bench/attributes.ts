import * as Effect from "effect/Effect"
import type * as Commit from "holdfast/Commit"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import { databaseFile, type Topic } from "./internal/settings.js"
import { commits, type Step } from "./internal/writers.js"

const topic = "Attributes: the commits of the topic `commit`, with what they are found by beside it; 64 writers"
const writers = 64

/** The step that commits with such attributes, which may differ from event to event. */
const withAttributes =
  (store: ExecutionStore, attributesOf: (eventId: string) => Commit.Commit["attributes"]): Step<unknown> =>
  (execution, eventId) =>
    Effect.map(
      store.commit(execution, { ...order.sideWrites(eventId), attributes: attributesOf(eventId) }),
      (committed) => committed.execution
    )

const same = { customer: "c-1", paid: false }

const cases: ReadonlyArray<readonly [name: string, attributesOf: (eventId: string) => Commit.Commit["attributes"]]> = [
  ["two that stay as they are", () => same],
  ["two, of which one changes each time", (eventId) => ({ ...same, customer: eventId })]
]

export const attributes: Topic = (settings) =>
  Effect.gen(function* () {
    const { rounds, seconds, warmUp } = settings
    const figures: Array<Figure.Figure> = []
    for (const durability of ["full", "normal"] as const) {
      const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings), durability })
      const none = commits(
        withAttributes(store, () => undefined),
        { writers }
      )
      yield* none(warmUp)
      for (const [name, attributesOf] of cases) {
        const some = commits(withAttributes(store, attributesOf), { writers })
        const found = yield* measure.rounds(rounds, Effect.all({ some: some(seconds), none: none(seconds) }))
        for (const [what, of, unit] of [
          ["", measure.rate, "/s"],
          [", processor", measure.cpuMicros, "us"]
        ] as const) {
          figures.push(
            Figure.make({
              topic,
              name: `${durability.toUpperCase()}, ${name}${what}`,
              unit,
              against: "the same without attributes",
              rounds: found.map((round) => ({ value: of(round.some), baseline: of(round.none) })),
              target: undefined
            })
          )
        }
      }
    }
    return figures
  }).pipe(Effect.scoped)
