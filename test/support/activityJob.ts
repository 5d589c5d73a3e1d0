import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import * as Step from "holdfast/Step"

export const Work = Activity.make("work", {
  payload: Schema.Struct({ n: Schema.Number }),
  success: Schema.String,
  error: Schema.String,
  retry: Schedule.spaced("20 millis").pipe(Schedule.intersect(Schedule.recurs(50))),
  concurrency: 4
})

/** How many activities a job asks for at its beginning. */
export const each = 25

/** A job that writes down the outcome of each of its activities, in the order in which they come. */
export const Job = Definition.make("job", {
  context: Schema.Struct({ outcomes: Schema.Array(Schema.Tuple(Schema.String, Schema.String)) }),
  activities: { work: Work },
  result: Schema.Array(Schema.Tuple(Schema.String, Schema.String))
})

const noted = (key: string, outcome: string) =>
  Step.updateContext(({ outcomes }: { readonly outcomes: ReadonlyArray<readonly [string, string]> }) => ({
    outcomes: [...outcomes, [key, outcome] as const]
  }))

export const jobHandlers = Job.of({
  Start: (step) =>
    Array.from({ length: each }, (_, n) => n).reduce(
      (step, n) => Job.runActivity(step, "work", { n }, { key: `k${n}` }),
      step.pipe(Step.advance("Working"))
    ),
  activities: {
    work: {
      success: (step, value, { key }) => {
        const next = step.pipe(noted(key, value))
        return next.context.outcomes.length === each ? Job.finish(next, next.context.outcomes) : next
      },
      failure: (step, error, { key }) => step.pipe(noted(key, typeof error === "string" ? error : error._tag))
    }
  }
})
