import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as models from "./models.js"
import * as problems from "./problems.js"

const optional = Schema.optional

/** A whole number in a query. */
const Whole = Schema.NumberFromString.pipe(Schema.int(), Schema.nonNegative())
const limit = { limit: optional(Whole.pipe(Schema.between(1, 1000))) }
const flag = optional(Schema.BooleanFromString)
const cursor = { cursor: optional(Schema.String) }

const Filter = Schema.Struct({
  definition: optional(Schema.String),
  status: optional(Schema.String).annotations({ description: "one or more, separated by commas" }),
  roots: flag,
  parent: optional(Schema.String),
  prefix: optional(Schema.String),
  where: optional(Schema.Union(Schema.String, Schema.Array(Schema.String))).annotations({
    description: "an attribute, as name=value; more than once, those that have all of them, sought by the first"
  })
})

const LetterFilter = Schema.Struct({ kind: optional(models.LetterKind), execution: optional(Schema.String) })

const Page = Schema.Struct({ ...limit, ...cursor })

const get = <const Name extends string, const Path extends `/${string}`>(name: Name, path: Path) =>
  HttpApiEndpoint.get(name, path)

const ById = Schema.Struct({ id: Schema.String })

/** What looks, and changes nothing. */
class Reads extends HttpApiGroup.make("reads", { topLevel: true })
  .add(get("session", "/api/session").addSuccess(models.Session))
  .add(get("overview", "/api/overview").addSuccess(models.Overview))
  .add(
    get("executions", "/api/executions")
      .setUrlParams(Schema.Struct({ ...Filter.fields, ...limit, ...cursor }))
      .addSuccess(models.SummaryPage)
  )
  .add(get("count", "/api/executions/count").setUrlParams(Filter).addSuccess(models.Total))
  .add(get("execution", "/api/execution").setUrlParams(ById).addSuccess(models.ExecutionPage))
  .add(get("trace", "/api/trace").setUrlParams(ById).addSuccess(models.Trace))
  .add(get("outbox", "/api/outbox").setUrlParams(Page).addSuccess(models.OutboxPage))
  .add(get("spawns", "/api/spawns").setUrlParams(Page).addSuccess(models.SpawnPage))
  .add(get("timers", "/api/timers").setUrlParams(Page).addSuccess(models.TimerPage))
  .add(get("activities", "/api/activities").setUrlParams(Page).addSuccess(models.ActivityPage))
  .add(
    get("deadLetters", "/api/dead-letters")
      .setUrlParams(Schema.Struct({ ...LetterFilter.fields, ...limit, ...cursor }))
      .addSuccess(models.DeadLetterPage)
  )
  .add(get("countDeadLetters", "/api/dead-letters/count").setUrlParams(LetterFilter).addSuccess(models.Total))
  .add(get("jobs", "/api/jobs").addSuccess(Schema.Array(models.Job)))
  .add(
    get("live", "/api/live")
      .addSuccess(Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" })))
      .annotate(OpenApi.Description, "Server-sent events, whose data is a Live each.")
  ) {}

/** What changes something. It takes a body of `application/json`, and access to all. */
class Writes extends HttpApiGroup.make("writes", { topLevel: true })
  .add(
    HttpApiEndpoint.post("act", "/api/execution")
      .setUrlParams(ById)
      .setPayload(models.Action)
      .addSuccess(models.Done)
      .annotate(OpenApi.Description, "Does something to an execution, and to what is below it.")
  )
  .add(
    HttpApiEndpoint.post("settle", "/api/dead-letter")
      .setUrlParams(Schema.Struct({ id: Whole }))
      .setPayload(Schema.Struct({ action: models.LetterAction }))
      .addSuccess(models.Done)
      .annotate(OpenApi.Description, "Puts a dead letter back to work, or removes it for good.")
  )
  .add(
    HttpApiEndpoint.post("startJob", "/api/jobs")
      .setPayload(models.Bulk)
      .addSuccess(models.Job)
      .annotate(OpenApi.Description, "Does something to all that a filter selects, in the background.")
  )
  .add(
    HttpApiEndpoint.post("stopJob", "/api/jobs/stop")
      .setUrlParams(ById)
      .setPayload(Schema.Struct({}))
      .addSuccess(models.Job)
  ) {}

/** The API of the monitor. Ids are in queries and not in paths: an id may be `..`. */
export class Api extends HttpApi.make("holdfast")
  .add(Reads)
  .add(Writes)
  .addError(problems.Invalid)
  .addError(problems.Refused)
  .addError(problems.Missing)
  .addError(problems.Conflict)
  .addError(problems.TooLarge)
  .addError(problems.Failed)
  .addError(problems.Unavailable)
  .annotate(OpenApi.Title, "Holdfast monitor")
  .annotate(OpenApi.Description, "What is in a store of executions, and what an operator does to it.")
  // Where this document is, the API is one folder up.
  .annotate(OpenApi.Servers, [{ url: ".." }]) {}
