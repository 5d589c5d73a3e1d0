/**
 * The contract suite on a store that starts a server for each test, or is all but another one that has the whole suite: a share of its
 * tests, and the others among the longer tests.
 */
import { describe } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Subject from "holdfast/testing/Subject"
import { long, longer } from "./extent.js"

/** The tests of each topic that run by default: the first, and of the others one in `of`, by what their number leaves. */
export interface Part {
  readonly of: number
  readonly rest: number
}

/** How many values a property is tried with by default. */
const fewRuns = 3

const shared = (make: (runs?: number) => Subject.Subject, { of, rest }: Part): Subject.Subject => {
  const all = make()
  const few = make(fewRuns)
  let count = 0
  const named = (name: string, register: (name: string) => void) => {
    const isPart = count === 0 || count % of === rest
    count++
    if (isPart) register(name)
    else if (long) register(longer(name))
  }
  return {
    hasRaw: all.hasRaw,
    test: (name, body) => named(name, (name) => all.test(name, body)),
    rawTest: (name, body) => {
      if (all.hasRaw) named(name, (name) => all.rawTest(name, body))
    },
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
  topics: ReadonlyArray<(subject: Subject.Subject) => void> = Object.values(ContractSuite.topics)
): void => {
  describe(name, () => {
    for (const topic of topics) {
      topic(shared((runs) => Subject.make(layer, { ...options, runs }), part))
    }
  })
}
