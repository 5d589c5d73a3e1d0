import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Failure, Outcome } from "../../Activity.js"
import { ActivityCancelled, ActivityDied, ActivityTimedOut } from "../../ActivityError.js"
import type { ActivityEntry } from "../../Commit.js"
import * as Event from "../../Event.js"
import type { JsonObject } from "../../Json.js"
import type { Problem } from "../processor/parseProblem.js"
import type { Contract } from "./contract.js"

/** How an activity ended, in the form that its event carries. */
export type Ending =
  | { readonly outcome: "success"; readonly value: unknown }
  | { readonly outcome: "failure"; readonly error: unknown; readonly message: string }
  | { readonly outcome: "timeout"; readonly after: number }
  | { readonly outcome: "died"; readonly message: string }
  | { readonly outcome: "cancelled" }

type Asked = Pick<ActivityEntry, "executionId" | "key" | "name" | "version">

/** The event that an activity ends with. `attempts` is how often it ran. */
export const eventOf = ({ executionId, key, name, version }: Asked, attempts: number, ending: Ending): Event.Event =>
  Event.make({
    id: Event.activityId(executionId, key, version),
    kind: Event.WellKnownKind.ActivityEnded,
    data: { activity: name, key, attempts, ...ending }
  })

/** What every such event says. */
export interface Told {
  readonly activity: string
  readonly key: string
  readonly attempts: number
}

/** What an event says, where it is the end of an activity. */
export const told = ({ data, kind }: Event.Event): Told | undefined => {
  const { activity, attempts, key } = data
  if (kind !== Event.WellKnownKind.ActivityEnded) return undefined
  if (typeof activity !== "string" || typeof key !== "string") return undefined
  return { activity, key, attempts: typeof attempts === "number" ? attempts : 1 }
}

const text = (u: unknown): string => (typeof u === "string" ? u : "")

const failureOf = (
  { error: codec }: Contract,
  { activity, attempts: attempt, key }: Told,
  executionId: string,
  { after, error, message, outcome }: JsonObject
): Either.Either<Failure<unknown>, Problem> => {
  const at = { activity, executionId, key, attempt }
  switch (outcome) {
    case "failure":
      return codec.decode(error)
    case "timeout":
      return Either.right(new ActivityTimedOut({ ...at, after: typeof after === "number" ? after : 0 }))
    case "died":
      return Either.right(new ActivityDied({ ...at, reason: text(message) }))
    case "cancelled":
      return Either.right(new ActivityCancelled(at))
    default:
      return Either.left({ path: "outcome", problem: `there is no outcome ${JSON.stringify(outcome)}` })
  }
}

/** How an activity of an execution went, as its event says. */
export const decode = (
  contract: Contract,
  ended: Told,
  executionId: string,
  { data }: Event.Event
): Either.Either<Outcome<unknown, unknown>, Problem> => {
  const { attempts, key } = ended
  return data["outcome"] === "success"
    ? Either.map(contract.success.decode(data["value"]), (value) => ({ key, attempts, result: Either.right(value) }))
    : Either.map(failureOf(contract, ended, executionId, data), (failure) => ({
        key,
        attempts,
        result: Either.left(failure)
      }))
}

/** The execution that the id of such an event names. */
const executionOf = ({ id }: Event.Event, { key }: Told): string => {
  const end = id.lastIndexOf(`:${key}:`)
  return end === -1 ? "" : id.slice(id.indexOf(":") + 1, end)
}

/** How an activity went, where the event is its end and decodes. */
export const outcome =
  (contract: Contract) =>
  (event: Event.Event): Option.Option<Outcome<unknown, unknown>> => {
    const ended = told(event)
    return ended?.activity === contract.name
      ? Option.getRight(decode(contract, ended, executionOf(event, ended), event))
      : Option.none()
  }
