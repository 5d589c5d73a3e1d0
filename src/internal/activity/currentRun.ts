import * as Context from "effect/Context"
import type { CurrentRun as Service } from "../../Activity.js"

export const CurrentRun: Context.Tag<Service, Service> = Context.GenericTag<Service>("holdfast/Activity/CurrentRun")
