import * as Schema from "effect/Schema"
import { Attributes } from "../../Execution.js"
import { statuses } from "../codec/execution.js"

/** What somebody may do with a monitor. */
export const Access = Schema.Literal("all", "read", "none").annotations({ identifier: "Access" })

const Text = Schema.NullOr(Schema.String)
const Seconds = Schema.Number.annotations({ description: "seconds since the epoch" })
const Time = Schema.NullOr(Seconds)
const Json = Schema.Unknown.annotations({ description: "any JSON value" })

/** Any JSON object. */
export const JsonObject = Schema.Record({ key: Schema.String, value: Schema.Unknown })

export const Status = Schema.Literal(...statuses).annotations({ identifier: "ExecutionStatus" })

export const Session = Schema.Struct({
  access: Access,
  version: Schema.String,
  interval: Schema.Number.annotations({ description: "milliseconds between two ticks of the live stream" }),
  redacted: Schema.Boolean,
  runtime: Schema.Boolean.annotations({ description: "whether workers run in this process" }),
  definitions: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      events: Schema.Record({ key: Schema.String, value: Json }).annotations({ description: "JSON Schema by kind" })
    })
  )
}).annotations({ identifier: "Session" })

const Backlog = Schema.Struct({ count: Schema.Number, failing: Schema.Number, oldest: Time })

export const Stats = Schema.Struct({
  outbox: Backlog,
  spawns: Backlog,
  timers: Schema.Struct({ ...Backlog.fields, due: Schema.Number }),
  delayed: Schema.Struct({ count: Schema.Number, corrupt: Schema.Number, oldest: Time }),
  activities: Schema.Struct({ ...Backlog.fields, running: Schema.Number }),
  deadLetters: Schema.Struct({ count: Schema.Number, oldest: Time })
}).annotations({ identifier: "Stats" })

export const Count = Schema.Struct({
  definitionId: Schema.String,
  status: Schema.NullOr(Status),
  count: Schema.Number
}).annotations({ identifier: "Count" })

const Worker = Schema.Struct({
  name: Schema.String,
  lastRun: Time,
  backlog: Schema.Number,
  held: Schema.Number,
  deadLetters: Schema.Number,
  paused: Schema.Boolean,
  error: Schema.NullOr(Schema.Struct({ time: Seconds, message: Schema.String })),
  outage: Schema.NullOr(Schema.Struct({ since: Seconds, message: Schema.String }))
})

export const Health = Schema.Struct({
  live: Schema.Boolean,
  ready: Schema.Boolean,
  problems: Schema.Array(Schema.String),
  workers: Schema.Array(Worker),
  unknownDefinitions: Schema.Array(Schema.Struct({ name: Schema.String, since: Seconds })),
  unknownActivities: Schema.Array(Schema.Struct({ name: Schema.String, since: Seconds }))
}).annotations({ identifier: "Health" })

const Process = Schema.Struct({
  name: Schema.String,
  renewedAt: Time.annotations({
    description: "its last sign of life, by its own clock; null where it is a member no more"
  }),
  ttl: Schema.NullOr(Schema.Number).annotations({
    description: "for how many seconds from then on it keeps what it holds"
  }),
  held: Schema.Number,
  leases: Schema.Array(Schema.String).annotations({ description: "the names of what it holds, the first of them" }),
  running: Schema.Number.annotations({ description: "how many activities it runs" })
})

/** Who shares the work of the store, as far as the store knows: this process and others. */
export const Processes = Schema.Struct({
  alone: Schema.Boolean.annotations({ description: "whether no other process can reach the store" }),
  pools: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      shares: Schema.Literal("lanes", "activities", "other"),
      service: Text,
      total: Schema.NullOr(Schema.Number).annotations({ description: "into how many shards lanes are divided" }),
      free: Schema.Number.annotations({ description: "how many leases nobody holds" }),
      processes: Schema.Array(Process),
      more: Schema.Number.annotations({ description: "how many processes are not told" })
    })
  )
}).annotations({ identifier: "Processes" })

/** One moment of the charts; rates are by second since the moment before. */
export const Sample = Schema.Struct({
  time: Seconds,
  commits: Schema.NullOr(Schema.Number),
  finished: Schema.NullOr(Schema.Number),
  failed: Schema.NullOr(Schema.Number),
  waiting: Schema.Number,
  oldest: Schema.Number.annotations({ description: "for how many seconds the oldest work has waited" }),
  lag: Schema.NullOr(Schema.Number).annotations({ description: "how late work of this process began, in seconds" }),
  duration: Schema.NullOr(Schema.Number).annotations({ description: "how long an event of this process took" })
}).annotations({ identifier: "Sample" })

export const Overview = Schema.Struct({
  now: Seconds,
  counts: Schema.NullOr(Schema.Array(Count)).annotations({ description: "null where it takes longer to count them" }),
  countedAt: Time,
  stats: Stats,
  health: Schema.NullOr(Health),
  processes: Schema.NullOr(Processes).annotations({ description: "null where their rows cannot be read" }),
  samples: Schema.Array(Sample)
}).annotations({ identifier: "Overview" })

export const Summary = Schema.Struct({
  id: Schema.String,
  definitionId: Schema.String,
  status: Status,
  outcome: Text,
  activePath: Text,
  version: Schema.Number,
  parentId: Text,
  finishedAt: Time
}).annotations({ identifier: "Summary" })

/** A stored row that does not decode. */
export const Corrupt = Schema.Struct({
  table: Schema.String,
  key: Schema.String,
  problem: Schema.String
}).annotations({ identifier: "CorruptRow" })

const page = <A extends Schema.Schema.Any>(item: A) =>
  Schema.Struct({ items: Schema.Array(item), corrupt: Schema.Array(Corrupt), next: Text })

const Child = Schema.Struct({
  id: Schema.String,
  key: Schema.String,
  rootPath: Schema.String,
  finished: Schema.Boolean,
  outcome: Text,
  result: Json
})

const Event = Schema.Struct({ id: Schema.String, kind: Schema.String, createdTime: Text, data: Json })

const failed = {
  attempts: Schema.Number,
  error: Text,
  retryAt: Time
}

export const OutboxRow = Schema.Struct({
  seq: Schema.Number,
  targetId: Text,
  event: Event,
  emittedAt: Time,
  ...failed
}).annotations({ identifier: "OutboxRow" })

export const SpawnRow = Schema.Struct({
  seq: Schema.Number,
  parentId: Schema.String,
  childId: Schema.String,
  rootPath: Schema.String,
  context: Json,
  ...failed
}).annotations({ identifier: "SpawnRow" })

export const TimerRow = Schema.Struct({
  executionId: Schema.String,
  path: Schema.String,
  fireAt: Seconds,
  ...failed
}).annotations({ identifier: "TimerRow" })

export const ActivityRow = Schema.Struct({
  seq: Schema.Number,
  executionId: Schema.String,
  key: Schema.String,
  name: Schema.String,
  limitKey: Schema.String,
  payload: Json,
  askedAt: Seconds,
  readyAt: Seconds,
  attempts: Schema.Number,
  error: Text,
  owner: Text
}).annotations({ identifier: "ActivityRow" })

export const DeadLetterRow = Schema.Struct({
  id: Schema.Number,
  kind: Schema.Literal("Outbox", "Spawn", "Timer", "Activity"),
  executionId: Text,
  reason: Schema.String,
  attempts: Schema.Number,
  error: Schema.String,
  diedAt: Seconds,
  row: Json,
  text: Text.annotations({ description: "the stored row as text, where it does not decode and nothing is masked" })
}).annotations({ identifier: "DeadLetter" })

export const Execution = Schema.Struct({
  id: Schema.String,
  definitionId: Schema.String,
  rootPath: Schema.String,
  status: Status,
  outcome: Text,
  result: Json,
  error: Text,
  activePath: Text,
  context: Json,
  processedEvents: Schema.Number,
  version: Schema.Number,
  parentId: Text,
  createdAt: Time,
  updatedAt: Time,
  finishedAt: Time,
  deferred: Schema.Array(Event),
  children: Schema.Array(Child)
}).annotations({ identifier: "ExecutionState" })

export const ExecutionPage = Schema.Struct({
  now: Seconds,
  execution: Execution,
  attributes: Schema.Record({ key: Schema.String, value: Json }).annotations({ description: "what it is found by" }),
  ancestors: Schema.Array(Summary).annotations({ description: "its parent, the parent of that, and so on" }),
  children: page(Summary),
  events: Schema.Array(OutboxRow),
  delayed: Schema.Array(Schema.Struct({ dueAt: Seconds, event: Event })),
  timers: Schema.Array(TimerRow),
  spawns: Schema.Array(SpawnRow),
  activities: Schema.Array(ActivityRow),
  deadLetters: Schema.Array(DeadLetterRow),
  corrupt: Schema.Array(Corrupt)
}).annotations({ identifier: "ExecutionPage" })

export const TraceStep = Schema.Struct({
  index: Schema.Number,
  eventKind: Schema.String,
  eventData: Json,
  fromPath: Text,
  toPath: Text,
  actions: Schema.Array(Schema.String),
  context: Json,
  timestamp: Seconds
}).annotations({ identifier: "TraceStep" })

export const Trace = Schema.Struct({
  steps: Schema.Array(TraceStep),
  corrupt: Schema.Array(Corrupt)
}).annotations({ identifier: "Trace" })

export const SummaryPage = page(Summary)
export const OutboxPage = page(OutboxRow)
export const SpawnPage = page(SpawnRow)
export const TimerPage = page(TimerRow)
export const ActivityPage = page(ActivityRow)
export const DeadLetterPage = page(DeadLetterRow)

const reason = { reason: Schema.optional(Schema.String) }

const steering = {
  suspend: Schema.Struct({ action: Schema.Literal("suspend"), ...reason }),
  resume: Schema.Struct({ action: Schema.Literal("resume"), ...reason }),
  cancel: Schema.Struct({
    action: Schema.Literal("cancel"),
    children: Schema.optional(Schema.Literal("terminate", "cancel")),
    ...reason
  }),
  terminate: Schema.Struct({ action: Schema.Literal("terminate"), ...reason }),
  redrive: Schema.Struct({ action: Schema.Literal("redrive"), activePath: Schema.optional(Schema.String), ...reason }),
  purge: Schema.Struct({ action: Schema.Literal("purge"), failed: Schema.optional(Schema.Boolean) }),
  send: Schema.Struct({
    action: Schema.Literal("send"),
    kind: Schema.NonEmptyString,
    data: Schema.optional(JsonObject),
    eventId: Schema.optional(Schema.NonEmptyString),
    delay: Schema.optional(Schema.NonNegative).annotations({ description: "seconds" })
  })
}

/** What can be done to an execution. */
export const Action = Schema.Union(
  steering.suspend,
  steering.resume,
  steering.cancel,
  steering.terminate,
  steering.redrive,
  steering.purge,
  steering.send
).annotations({ identifier: "Action" })

export const LetterAction = Schema.Literal("redrive", "discard").annotations({ identifier: "LetterAction" })

export const LetterKind = Schema.Literal("Outbox", "Spawn", "Timer", "Activity")

/** Which executions. */
export const Filter = Schema.Struct({
  definition: Schema.optional(Schema.String),
  status: Schema.optional(Schema.Array(Status)),
  roots: Schema.optional(Schema.Boolean),
  parent: Schema.optional(Schema.String),
  prefix: Schema.optional(Schema.String),
  attributes: Schema.optional(Attributes)
}).annotations({ identifier: "Filter" })

/** Which dead letters. */
export const LetterFilter = Schema.Struct({
  kind: Schema.optional(LetterKind),
  execution: Schema.optional(Schema.String)
}).annotations({ identifier: "LetterFilter" })

export const Bulk = Schema.Union(
  Schema.Struct({ of: Schema.Literal("executions"), filter: Filter, action: Action }),
  Schema.Struct({ of: Schema.Literal("dead letters"), filter: LetterFilter, action: LetterAction })
).annotations({ identifier: "Bulk" })

export const Total = Schema.Struct({
  count: Schema.Number,
  exact: Schema.Boolean.annotations({ description: "false where there are more than were counted" })
}).annotations({ identifier: "Total" })

export const Done = Schema.Struct({
  changed: Schema.Array(Schema.String),
  corrupt: Schema.Array(Corrupt)
}).annotations({ identifier: "Done" })

export const Job = Schema.Struct({
  id: Schema.String,
  action: Schema.String,
  of: Schema.Literal("executions", "dead letters"),
  filter: Json,
  state: Schema.Literal("running", "done", "stopped", "failed"),
  total: Total,
  seen: Schema.Number,
  changed: Schema.Number,
  unchanged: Schema.Number,
  failed: Schema.Number,
  errors: Schema.Array(Schema.Struct({ id: Schema.String, message: Schema.String })),
  startedAt: Seconds,
  endedAt: Time
}).annotations({ identifier: "Job" })

/** What the live stream tells: what has changed since the message before. */
export const Live = Schema.Struct({
  ...Overview.fields,
  changed: Schema.Array(Schema.String).annotations({ description: "ids of executions that commits here changed" }),
  all: Schema.Boolean.annotations({ description: "whether anything else may have changed too" }),
  jobs: Schema.Array(Job)
}).annotations({ identifier: "Live" })
