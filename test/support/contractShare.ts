/**
 * The contract suite on a store that starts a server for each test, or is all but another one: a share of its tests, and the others among
 * the longer tests. The stores on SQLite and libSQL in this process have one implementation in SQL. What is left when the number of a test
 * is divided by six says on which of them it runs by default: on a file of SQLite at 0, 2 and 4, on one of libSQL at 1, by `SqlStore` at 3,
 * on libSQL in memory at 5. So each runs on one of them.
 */
import { describe } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Subject from "holdfast/testing/Subject"
import { long, longer } from "./extent.js"

type Topic = (subject: Subject.Subject) => void

/**
 * The tests of each topic that run by default: the first, and of the others one in `of`, by what their number leaves; none of the topics that
 * are `later`.
 */
export interface Part {
  readonly of: number
  readonly rest: number
  readonly later?: ReadonlyArray<Topic>
}

/** How many values a property is tried with by default. */
const fewRuns = 3

const shared = (make: (runs?: number) => Subject.Subject, { of, rest }: Part, isLater: boolean): Subject.Subject => {
  const all = make()
  const few = make(fewRuns)
  let count = 0
  const named = (name: string, register: (name: string) => void) => {
    const isPart = !isLater && (count === 0 || count % of === rest)
    count++
    if (isPart) register(name)
    else if (long) register(longer(name))
  }
  return {
    hasRaw: all.hasRaw,
    test: (name, body) => named(name, (name) => all.test(name, body)),
    // It has its number also where it is not registered, so that those of the others are the same on every store.
    rawTest: (name, body) => named(name, (name) => all.rawTest(name, body)),
    testWith: (options, name, body) => named(name, (name) => all.testWith(options, name, body)),
    property: (name, arbitrary, runs, body) =>
      long ? all.property(longer(name), arbitrary, runs, body) : few.property(name, arbitrary, runs, body)
  }
}

/** Registers topics of the suite under a name. Properties have few values by default, and all among the longer tests. */
export const suite = <R = never>(
  name: string,
  layer: Layer.Layer<ExecutionStore | R, unknown>,
  { part, ...options }: Subject.Options<R> & { readonly part: Part },
  topics: ReadonlyArray<Topic> = Object.values(ContractSuite.topics)
): void => {
  describe(name, () => {
    for (const topic of topics) {
      const isLater = part.later?.includes(topic) ?? false
      if (long || !isLater) topic(shared((runs) => Subject.make(layer, { ...options, runs }), part, isLater))
    }
  })
}
