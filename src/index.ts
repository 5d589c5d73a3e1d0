/**
 * @since 0.1.0
 */
export * as Activity from "./Activity.js"
/**
 * @since 0.1.0
 */
export * as ActivityError from "./ActivityError.js"
/**
 * @since 0.1.0
 */
export * as ActivityWorker from "./ActivityWorker.js"
/**
 * @since 0.1.0
 */
export * as Commit from "./Commit.js"
/**
 * @since 0.1.0
 */
export * as Control from "./Control.js"
/**
 * @since 0.1.0
 */
export * as ControlError from "./ControlError.js"
/**
 * @since 0.1.0
 */
export * as Cron from "./Cron.js"
/**
 * @since 0.1.0
 */
export * as CronError from "./CronError.js"
/**
 * @since 0.1.0
 */
export * as DeadLetter from "./DeadLetter.js"
/**
 * @since 0.1.0
 */
export * as Definition from "./Definition.js"
/**
 * @since 0.1.0
 */
export * as DefinitionError from "./DefinitionError.js"
/**
 * @since 0.1.0
 */
export * as EncodedStore from "./EncodedStore.js"
/**
 * @since 0.1.0
 */
export * as Event from "./Event.js"
/**
 * @since 0.1.0
 */
export * as Execution from "./Execution.js"
/**
 * @since 0.1.0
 */
export * as ExecutionRuntime from "./ExecutionRuntime.js"
/**
 * @since 0.1.0
 */
export * as ExecutionStore from "./ExecutionStore.js"
/**
 * @since 0.1.0
 */
export * as GivenUp from "./GivenUp.js"
/**
 * @since 0.1.0
 */
export * as Ids from "./Ids.js"
/**
 * @since 0.1.0
 */
export * as Json from "./Json.js"
/**
 * @since 0.1.0
 */
export * as Lease from "./Lease.js"
/**
 * @since 0.1.0
 */
export * as MemoryStore from "./MemoryStore.js"
/**
 * @since 0.1.0
 */
export * as Metrics from "./Metrics.js"
/**
 * @since 0.1.0
 */
export * as OutboxRelay from "./OutboxRelay.js"
/**
 * @since 0.1.0
 */
export * as Processor from "./Processor.js"
/**
 * @since 0.1.0
 */
export * as ProcessorError from "./ProcessorError.js"
/**
 * @since 0.1.0
 */
export * as PublishedDefinition from "./PublishedDefinition.js"
/**
 * @since 0.1.0
 */
export * as QueueWorker from "./QueueWorker.js"
/**
 * @since 0.1.0
 */
export * as Retention from "./Retention.js"
/**
 * @since 0.1.0
 */
export * as Shards from "./Shards.js"
/**
 * @since 0.1.0
 */
export * as SpawnRelay from "./SpawnRelay.js"
/**
 * @since 0.1.0
 */
export * as SqlDriver from "./SqlDriver.js"
/**
 * @since 0.1.0
 */
export * as Step from "./Step.js"
/**
 * @since 0.1.0
 */
export * as StoreError from "./StoreError.js"
/**
 * @since 0.1.0
 */
export * as Telemetry from "./Telemetry.js"
/**
 * @since 0.1.0
 */
export * as Time from "./Time.js"
/**
 * @since 0.1.0
 */
export * as TimerSweeper from "./TimerSweeper.js"
/**
 * @since 0.1.0
 */
export * as TraceContext from "./TraceContext.js"
/**
 * @since 0.1.0
 */
export * as Transfer from "./Transfer.js"
/**
 * @since 0.1.0
 */
export * as TransferError from "./TransferError.js"
