import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ActivityEntry, SpawnEntry } from "../../Commit.js"
import type { DeadLetter } from "../../DeadLetter.js"
import * as Event from "../../Event.js"
import * as Execution from "../../Execution.js"
import { ExecutionStore, type PendingWork } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import type { Problem } from "../processor/parseProblem.js"
import { makeAt } from "../processor/step.js"
import { named } from "../processor/stepChildren.js"
import * as attributes from "./attributes.js"
import type { Contract } from "./contract.js"
import { arrive } from "./incoming.js"
import * as instance from "./instance.js"

/** What is wrong, and with what. */
export interface Found extends Problem {
  readonly subject: string
}

export const quoted = (text: string): string => JSON.stringify(text)

/** What of the context, and of an end, does not decode, and what attribute cannot be made of it. */
export const misread = (contract: Contract, execution: Execution.Execution): ReadonlyArray<Found> =>
  Either.match(instance.decode(contract, execution), {
    onLeft: ({ part, path, problem }): ReadonlyArray<Found> => [{ subject: part, path, problem }],
    onRight: ({ context }) =>
      Either.match(attributes.of(contract, context), {
        onLeft: ({ path, problem, subject }): ReadonlyArray<Found> => [{ subject, path, problem }],
        onRight: () => []
      })
  })

export const unnamed = ({ name, version }: Contract, subject: string, becomes: string): Found => ({
  subject,
  path: "",
  problem: `definition ${quoted(name)} does not name it in version ${version}: ${becomes}`
})

/** An execution, and the version of the definition that takes it. */
export interface Taken {
  readonly contract: Contract
  readonly execution: Execution.Execution
}

/** What of an event does not arrive. */
const undelivered = ({ contract, execution }: Taken, event: Event.Event): ReadonlyArray<Found> =>
  // Whether there is a handler for notices only an implementation says.
  Either.match(arrive(contract, makeAt({ ...execution, context: undefined }, event, 0), true), {
    onLeft: ({ path, problem, subject }): ReadonlyArray<Found> => [{ subject, path, problem }],
    onRight: () => []
  })

/** What of an activity that has not ended is none of the definition, or was asked for something else. */
const unknownActivity = (
  contract: Contract,
  { name, payload }: Pick<ActivityEntry, "name" | "payload">
): ReadonlyArray<Found> => {
  const activity = Array.fromIterable(contract.activities.values()).find((activity) => activity.name === name)
  if (activity === undefined) {
    if (contract.onUnknownEvent === "ignore") return []
    return [unnamed(contract, `activity ${quoted(name)}`, "its outcome would be a dead letter")]
  }
  return Either.match(activity.payload.decode(payload), {
    onLeft: (problem): ReadonlyArray<Found> => [{ subject: `payload of activity ${quoted(name)}`, ...problem }],
    onRight: () => []
  })
}

/** What of a child that is still to be created does not decode by its definition. */
const unborn = (contract: Contract, spawn: SpawnEntry): ReadonlyArray<Found> => {
  const made = named(spawn)
  const child = Array.fromIterable(contract.children.values()).find(({ name }) => name === made?.definitionId)
  if (made === undefined || child === undefined) return []
  return misread(child, Execution.make({ id: spawn.childId, ...made })).map(({ path, problem }) => ({
    subject: `context of child ${quoted(spawn.childId)}`,
    path,
    problem
  }))
}

/** What of a page of work could not be taken. */
const ofPage = (taken: Taken, { corrupt, delayed, events, spawns, timers }: PendingWork): ReadonlyArray<Found> => [
  ...events.flatMap(({ event }) => undelivered(taken, event)),
  ...delayed.flatMap(({ event }) => undelivered(taken, event)),
  ...timers.flatMap(({ executionId, fireAt, path }) => undelivered(taken, Event.timeout(executionId, path, fireAt))),
  ...spawns.flatMap((spawn) => unborn(taken.contract, spawn)),
  ...corrupt.map(({ key, problem, table }) => ({ subject: `row ${key} of ${table}`, path: "", problem }))
]

/** What of a dead letter could not be taken if it were redriven. One that does not decode is no matter of the definition. */
const ofLetter = (taken: Taken, letter: DeadLetter): ReadonlyArray<Found> => {
  switch (letter._tag) {
    case "Outbox":
      return Option.match(letter.row, { onNone: () => [], onSome: ({ event }) => undelivered(taken, event) })
    case "Timer":
      return Option.match(letter.row, {
        onNone: () => [],
        onSome: ({ executionId, fireAt, path }) => undelivered(taken, Event.timeout(executionId, path, fireAt))
      })
    case "Spawn":
      return Option.match(letter.row, { onNone: () => [], onSome: (spawn) => unborn(taken.contract, spawn) })
    case "Activity":
      return Option.match(letter.row, { onNone: () => [], onSome: (row) => unknownActivity(taken.contract, row) })
  }
}

/** How many rows of a kind are looked at together. */
const size = 1000

/** What is wrong with one page, and where the next one begins. */
type Page<K> = Effect.Effect<readonly [ReadonlyArray<Found>, Option.Option<K>], StoreError, ExecutionStore>

const workPage = (taken: Taken, cursor?: string): Page<string> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const page = yield* store.workOf(taken.execution.id, { limit: size, cursor })
    return [ofPage(taken, page), page.nextCursor]
  })

const letterPage = (taken: Taken, after?: number): Page<number> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const page = yield* store.deadLetters.list({ executionId: taken.execution.id, limit: size, after })
    const found = page.entries.flatMap((letter) =>
      ofLetter(taken, letter).map((one) => ({ ...one, subject: `${one.subject} of dead letter ${letter.id}` }))
    )
    return [found, page.next]
  })

const unknownActivities = ({ contract, execution }: Taken) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const activities = yield* store.activities.of(execution.id)
    return activities.flatMap((activity) => unknownActivity(contract, activity))
  })

/** What is wrong with the pages from here on, each read when it is asked for. */
const following = <K>(from: Option.Option<K>, page: (from: K) => Page<K>) =>
  Stream.paginateEffect(from, (from) =>
    Option.match(from, {
      onNone: () => Effect.succeed([[], Option.none()] as const),
      onSome: (from) => Effect.map(page(from), ([found, next]) => [found, Option.map(next, Option.some)] as const)
    })
  ).pipe(Stream.flattenIterables)

/** What is wrong with the first page of each kind of work, and with what lies behind. */
export interface Checked {
  readonly found: ReadonlyArray<Found>
  readonly rest: Stream.Stream<Found, StoreError, ExecutionStore>
}

/** What of all work of an execution, and of its dead letters if they were redriven, could not be taken. */
export const check = (taken: Taken, deadLetters: boolean): Effect.Effect<Checked, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const [[work, moreWork], activities, [letters, moreLetters]] = yield* Effect.all(
      [
        workPage(taken),
        unknownActivities(taken),
        deadLetters ? letterPage(taken) : Effect.succeed([[], Option.none<number>()] as const)
      ],
      { concurrency: "unbounded" }
    )
    return {
      found: [...work, ...activities, ...letters],
      rest: Stream.concat(
        following(moreWork, (cursor) => workPage(taken, cursor)),
        following(moreLetters, (after) => letterPage(taken, after))
      )
    }
  })
