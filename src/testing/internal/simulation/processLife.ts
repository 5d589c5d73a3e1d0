import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import type { Scheduler, Task } from "effect/Scheduler"
import * as Supervisor from "effect/Supervisor"
import * as Ids from "../../../Ids.js"
import type { Dice } from "./dice.js"
import { beginning, type Runner, type World } from "./world.js"

/** Effect counts fibers and how long they live, by the real clock; nobody looks at that here. */
const unmeasured = RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics)

/** What is particular to one life of a process. */
export interface Settings {
  readonly name: string
  /** How far its wall clock is ahead, in milliseconds. */
  readonly skew: () => number
  readonly dice: Dice
  /** How likely a task is run out of its turn. */
  readonly disorder: number
}

/**
 * One life of a process, from its start to its end: the tasks of its fibers, its clock, its ids. While it is frozen nothing of it runs. After
 * its death nothing of it ever runs again: its fibers stay where they were, and no finalizer is called.
 */
export class Life implements Scheduler, Runner {
  alive = true
  /** After so many tasks it dies. */
  left: number | undefined
  /** What was begun in it from outside and has not ended. */
  readonly waiting = new Set<string>()
  /** What follows where it dies of a request. */
  onFatal: () => void = () => {}
  /** The latest that its wall clock has shown, in milliseconds since the epoch. */
  latest = 0
  private frozen = false
  private troubledAt: number
  private wroteAt = Number.NEGATIVE_INFINITY
  private readonly tasks: Array<Task> = []
  private readonly overdue: Array<() => void> = []
  private untilYield = 1
  private readonly supervisor = Effect.runSync(Supervisor.track)
  private ids = 0

  constructor(
    readonly world: World,
    readonly settings: Settings
  ) {
    this.troubledAt = world.now
    this.clock = world.clockOf(
      () => this.millis(),
      (end) => {
        if (this.frozen) this.overdue.push(end)
        else end()
      }
    )
    this.random = Random.make(`random of ${settings.dice.next()}`)
    world.add(this)
  }

  get name(): string {
    return this.settings.name
  }

  ready(): boolean {
    return this.alive && !this.frozen && this.tasks.length > 0
  }

  runOne(): void {
    const { dice, disorder } = this.settings
    const at = dice.chance(disorder) ? dice.below(this.tasks.length) : 0
    const [task] = this.tasks.splice(at, 1)
    task?.()
    if (this.left !== undefined && --this.left <= 0) this.die()
  }

  scheduleTask(task: Task): void {
    if (this.alive) this.tasks.push(task)
  }

  /** A fiber is put aside after any number of its steps, so that others come in between wherever they can. */
  shouldYield(): number | false {
    if (--this.untilYield > 0) return false
    this.untilYield = this.settings.dice.between(1, this.settings.dice.chance(0.1) ? 2_000 : 200)
    return 0
  }

  die(): void {
    if (!this.alive) return
    this.alive = false
    this.tasks.length = 0
    this.overdue.length = 0
    this.world.remove(this)
    this.world.note(`${this.name} is dead`)
  }

  /** Dies while a request is on its way. */
  dieOfRequest(): void {
    const { alive } = this
    this.die()
    if (alive) this.onFatal()
  }

  /** Something goes wrong that is no fault of its own. */
  trouble(): void {
    this.troubledAt = this.world.now
  }

  /** It was told that something is written. */
  wrote(): void {
    this.wroteAt = this.world.now
  }

  /** When it was told so, where nothing has gone wrong since. */
  wroteSince(): number | undefined {
    return this.wroteAt > this.troubledAt ? this.wroteAt : undefined
  }

  /** For how many microseconds nothing has gone wrong with it. */
  wellFor(): number {
    return this.alive && !this.frozen ? this.world.now - this.troubledAt : 0
  }

  freeze(): void {
    this.frozen = true
  }

  thaw(): void {
    this.frozen = false
    this.trouble()
    for (const run of this.overdue.splice(0)) run()
  }

  /** The fibers that run in it, without those that `run` began. */
  get fibers(): number {
    return Effect.runSync(this.supervisor.value).length
  }

  /** Runs an effect as a fiber of this process. */
  run<A, E>(effect: Effect.Effect<A, E>): Fiber.RuntimeFiber<A, E> {
    const inside = effect.pipe(
      Effect.withClock(this.clock),
      Effect.withRandom(this.random),
      Effect.provideService(Ids.Ids, { next: Effect.sync(() => `${this.name}-${++this.ids}`) }),
      Effect.provide(this.logger),
      Effect.supervised(this.supervisor),
      Effect.withRuntimeFlagsPatch(unmeasured)
    )
    return Effect.runFork(inside, { scheduler: this, immediate: false })
  }

  private millis(): number {
    const now = beginning + Math.floor(this.world.now / 1_000) + this.settings.skew()
    this.latest = Math.max(this.latest, now)
    this.world.latest = Math.max(this.world.latest, now)
    return now
  }

  readonly clock: Clock.Clock
  private readonly random: Random.Random

  private readonly logger = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => {
      if (LogLevel.greaterThanEqual(logLevel, LogLevel.Error)) this.world.note(`${this.name} logs ${String(message)}`)
    })
  )
}
