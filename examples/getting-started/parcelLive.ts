// How it goes: a handler for each thing that can happen. A handler is given a step and returns it, changed.
import { Context, Effect } from "effect"
import { Step } from "holdfast"
import { Parcel } from "./parcel.js"

export class Mail extends Context.Tag("Mail")<
  Mail,
  { readonly send: (to: string, text: string) => Effect.Effect<void> }
>() {}

export const ParcelLive = Parcel.toLayer(
  Effect.gen(function* () {
    const mail = yield* Mail
    return {
      Start: (step) => step.pipe(Step.advance("Waiting"), Parcel.armTimer("remind", "3 days")),

      Collected: (step, { by }) => step.pipe(Parcel.cancelTimer("remind"), Parcel.finish({ collectedBy: by })),

      timers: {
        remind: (step) => {
          if (step.context.reminders === 2) return Parcel.finish(step, { collectedBy: null })
          // The mail may be sent twice where the process dies before the step is committed; the count never goes wrong.
          return Effect.as(
            mail.send(step.context.recipient, "your parcel is waiting"),
            step.pipe(
              Step.updateContext((context) => ({ ...context, reminders: context.reminders + 1 })),
              Parcel.armTimer("remind", "3 days")
            )
          )
        }
      }
    }
  })
)
