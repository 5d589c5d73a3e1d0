import type { Schema } from "effect/Schema"
import type * as models from "../internal/monitorApi/models.js"

type Of<S extends Schema.Any> = Schema.Type<S>

export type Session = Of<typeof models.Session>
export type Overview = Of<typeof models.Overview>
export type Processes = Of<typeof models.Processes>
export type Live = Of<typeof models.Live>
export type Sample = Of<typeof models.Sample>
export type Status = Of<typeof models.Status>
export type Summary = Of<typeof models.Summary>
export type Corrupt = Of<typeof models.Corrupt>
export type ExecutionPage = Of<typeof models.ExecutionPage>
export type Execution = Of<typeof models.Execution>
export type Trace = Of<typeof models.Trace>
export type TraceStep = Of<typeof models.TraceStep>
export type OutboxRow = Of<typeof models.OutboxRow>
export type SpawnRow = Of<typeof models.SpawnRow>
export type TimerRow = Of<typeof models.TimerRow>
export type ActivityRow = Of<typeof models.ActivityRow>
export type DeadLetter = Of<typeof models.DeadLetterRow>
export type Action = Of<typeof models.Action>
export type Filter = Of<typeof models.Filter>
export type LetterFilter = Of<typeof models.LetterFilter>
export type Bulk = Of<typeof models.Bulk>
export type Total = Of<typeof models.Total>
export type Job = Of<typeof models.Job>

/** A page of a listing. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly corrupt: ReadonlyArray<Corrupt>
  readonly next: string | null
}
