import { compareUtf8 } from "../codec/utf8Order.js"
import { Activities } from "./activities.js"
import { DeadLetters, Failures } from "./deadLetters.js"
import { Definitions } from "./definitions.js"
import { AttributeRows, type ExecutionRow, Traces } from "./executions.js"
import { Pools } from "./leases.js"
import { Ledger } from "./ledger.js"
import { Delayed, Outbox } from "./outbox.js"
import { Ordered } from "./sortedArray.js"
import { Spawns } from "./spawns.js"
import { Timers } from "./timers.js"

/**
 * The tables of a store in the process. They are mutable: whoever changes them does so in one synchronous block, which nothing else of the
 * process can see half done.
 */
export class Tables {
  readonly executions = new Ordered<string, ExecutionRow>((row) => row.id, compareUtf8)
  readonly traces = new Traces()
  readonly outbox = new Outbox()
  readonly delayed = new Delayed()
  readonly spawns = new Spawns()
  readonly timers = new Timers()
  readonly activities = new Activities()
  readonly attributes = new AttributeRows()
  readonly ledger = new Ledger()
  readonly failures = new Failures()
  readonly deadLetters = new DeadLetters()
  readonly pools = new Pools()
  readonly definitions = new Definitions()

  /** The definition of an execution, where there is such an execution. */
  definitionOf(id: unknown): string | undefined {
    const definitionId = typeof id === "string" ? this.executions.get(id)?.definitionId : undefined
    return typeof definitionId === "string" ? definitionId : undefined
  }

  /** Says of an id whether there is such an execution, and its definition is one of these. */
  excepted(definitionIds: ReadonlyArray<string>): (id: unknown) => boolean {
    if (definitionIds.length === 0) return () => false
    const definitions = new Set(definitionIds)
    return (id) => {
      const definitionId = this.definitionOf(id)
      return definitionId !== undefined && definitions.has(definitionId)
    }
  }
}
