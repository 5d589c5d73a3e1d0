import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Api } from "../monitorApi/api.js"
import * as models from "../monitorApi/models.js"
import { Conflict } from "../monitorApi/problems.js"
import { CurrentAccess } from "../monitorHttp/access.js"
import { body, reply } from "../monitorHttp/reply.js"
import { type Acting, act, settle } from "./act.js"
import type { Jobs } from "./jobs.js"
import type { Overviews } from "./overview.js"
import * as reads from "./reads.js"
import * as views from "./views.js"

/** What the handlers of the API work on. */
export interface Parts {
  readonly reading: reads.Reading
  readonly acting: Acting
  readonly overviews: Overviews
  readonly jobs: Jobs
  readonly session: Omit<Schema.Schema.Type<typeof models.Session>, "access">
}

/** Who asks without an access has come past the guards: there is none for them. */
const access = Effect.map(
  Effect.serviceOption(CurrentAccess),
  Option.getOrElse(() => "none" as const)
)

const session = ({ session }: Parts) =>
  Effect.flatMap(access, (access) => reply(models.Session, { access, ...session }))

// Answers are written by hand: a context may hold integers that JSON.stringify does not write.
const makeReads = (parts: Parts) =>
  HttpApiBuilder.group(Api, "reads", (handlers) =>
    handlers
      .handleRaw("session", () => session(parts))
      .handleRaw("overview", () => Effect.flatMap(parts.overviews.get, (found) => reply(models.Overview, found)))
      .handleRaw("executions", ({ urlParams }) => reads.executions(parts.reading, urlParams))
      .handleRaw("count", ({ urlParams }) => reads.count(parts.reading, urlParams))
      .handleRaw("execution", ({ urlParams }) => reads.execution(parts.reading, urlParams.id))
      .handleRaw("trace", ({ urlParams }) => reads.trace(parts.reading, urlParams.id))
      .handleRaw("outbox", ({ urlParams }) => reads.outbox(parts.reading, urlParams))
      .handleRaw("spawns", ({ urlParams }) => reads.spawns(parts.reading, urlParams))
      .handleRaw("timers", ({ urlParams }) => reads.timers(parts.reading, urlParams))
      .handleRaw("activities", ({ urlParams }) => reads.activities(parts.reading, urlParams))
      .handleRaw("deadLetters", ({ urlParams }) => reads.deadLetters(parts.reading, urlParams))
      .handleRaw("countDeadLetters", ({ urlParams }) => reads.countDeadLetters(parts.reading, urlParams))
      .handleRaw("jobs", () => Effect.flatMap(parts.jobs.list, (jobs) => reply(Schema.Array(models.Job), jobs)))
      .handleRaw("live", () => reads.live(parts.reading))
  )

const LetterBody = Schema.Struct({ action: models.LetterAction })

/** That a dead letter is not there, or cannot be put back. */
const unsettled = (id: number) =>
  new Conflict({
    title: "Not possible now",
    detail: `dead letter ${id} is not there any more, or what it stands for is armed or asked for anew`
  })

const makeWrites = (parts: Parts) =>
  HttpApiBuilder.group(Api, "writes", (handlers) =>
    handlers
      .handleRaw("act", ({ request, urlParams }) =>
        Effect.gen(function* () {
          const action = yield* body(request, models.Action)
          const { changed, corrupt } = yield* act(parts.acting, urlParams.id, action)
          yield* parts.overviews.forget
          return yield* reply(models.Done, { changed, corrupt: views.corrupt(corrupt) })
        })
      )
      .handleRaw("settle", ({ request, urlParams }) =>
        Effect.gen(function* () {
          const { action } = yield* body(request, LetterBody)
          if (!(yield* settle(parts.acting, urlParams.id, action))) return yield* unsettled(urlParams.id)
          yield* parts.overviews.forget
          return yield* reply(models.Done, { changed: [String(urlParams.id)], corrupt: [] })
        })
      )
      .handleRaw("startJob", ({ request }) =>
        Effect.gen(function* () {
          const job = yield* parts.jobs.start(yield* body(request, models.Bulk))
          return yield* reply(models.Job, job)
        })
      )
      .handleRaw("stopJob", ({ urlParams }) =>
        Effect.flatMap(parts.jobs.stop(urlParams.id), (job) => reply(models.Job, job))
      )
  )

/** The API on its parts. */
export const make = (parts: Parts) => Layer.provide(HttpApiBuilder.api(Api), [makeReads(parts), makeWrites(parts)])
