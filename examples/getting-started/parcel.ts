// What there is: the name, what a parcel carries along, what can happen to it, and what it ends with.
import { Schema } from "effect"
import { Definition } from "holdfast"

export const Parcel = Definition.make("parcel", {
  context: Schema.Struct({ recipient: Schema.String, reminders: Schema.Number }),
  input: Schema.Struct({ recipient: Schema.String }),
  initial: ({ recipient }) => ({ recipient, reminders: 0 }),
  events: { Collected: Schema.Struct({ by: Schema.String }) },
  timers: ["remind"],
  result: Schema.Struct({ collectedBy: Schema.NullOr(Schema.String) })
})
