import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Encoded } from "../../../EncodedStore.js"
import * as ExecutionRuntime from "../../../ExecutionRuntime.js"
import * as ExecutionStore from "../../../ExecutionStore.js"
import type { Workload } from "../../Simulation.js"
import type { Backend } from "./backend.js"
import * as dice_ from "./dice.js"
import { type Journal, observed, type Writing } from "./journal.js"
import type { Network, Pending } from "./network.js"
import { Life } from "./processLife.js"
import type { RuntimeOptions } from "./runtimeOptions.js"

/** Another backend in the place of what a process has: a fault that a test wants to be found. */
export type Tamper = (encoded: Encoded) => Encoded

export interface Settings<R> {
  readonly seed: number
  readonly workload: Workload<R>
  readonly backend: Backend
  readonly network: Network
  readonly journal: Journal
  readonly tamper: Tamper
  readonly runtimeOptions: RuntimeOptions
}

type Services<R> = R | ExecutionRuntime.ExecutionRuntime | ExecutionStore.ExecutionStore

/** What runs in a process that has started. */
interface Started<R> {
  readonly scope: Scope.CloseableScope
  readonly context: Context.Context<Services<R>>
}

/** A process: one life after another, over the same database. */
export class Process<R> {
  readonly pending: Array<Pending> = []
  private skew: number
  private lives = 0
  life: Life | undefined
  private started: Started<R> | undefined
  private readonly dice: dice_.Dice
  private readonly keepsName: boolean
  private readonly rollout: dice_.Dice
  /** Whether it has what only some of the processes have, and for a time. */
  private differs = false

  constructor(
    readonly index: number,
    private readonly settings: Settings<R>
  ) {
    this.dice = dice_.make(settings.seed, `process ${index}`)
    this.rollout = dice_.make(settings.seed, `rollout ${index}`)
    this.skew = this.dice.between(-2_000, 2_000)
    this.keepsName = dice_.make(settings.seed, "names").chance(0.5)
  }

  get name(): string {
    return `p${this.index}`
  }

  get alive(): boolean {
    return this.life?.alive === true
  }

  get running(): boolean {
    return this.alive && this.started !== undefined
  }

  /** What was begun in it and has not ended. */
  get waiting(): ReadonlyArray<string> {
    return this.alive ? Array.from(this.life?.waiting ?? []) : []
  }

  setClock(millis: number): void {
    this.skew += millis
  }

  start(): void {
    if (this.alive) return
    const { journal, seed } = this.settings
    const name = `${this.name}.${++this.lives}`
    const life = new Life(journal.world, {
      name,
      skew: () => this.skew,
      dice: dice_.make(seed, name),
      disorder: this.dice.pick(0, 0.05, 1)
    })
    // Whoever watches over processes starts it again.
    life.onFatal = () => journal.world.after(this.dice.between(10, 5_000) * 1_000, () => this.start())
    this.life = life
    this.started = undefined
    journal.world.note(`${name} starts`)
    life.run(
      Effect.map(this.boot(life), (started) => {
        this.started = started
      })
    )
  }

  /** What this life of it has. */
  private deploy(life: Life): Workload<R>["layer"] {
    const { runtimeOptions, journal, network, workload } = this.settings
    const { layer, others = [] } = workload
    const nth = this.rollout.below(4 * Math.max(1, others.length))
    const other = runtimeOptions.exclusive || network.isCalm ? undefined : others[nth]
    this.differs = other !== undefined
    if (other !== undefined) journal.world.note(`${life.name} has deployment ${nth}`)
    return other ?? layer
  }

  /** Whether it is up, with what all have in the end. */
  get isFinal(): boolean {
    return this.running && !this.differs
  }

  /** Has what all have in the end, which takes a restart where it has something else. */
  converge(): void {
    if (this.differs && this.running) this.stop(() => this.start())
  }

  /** Starts the runtime and the workload, again and again until the database lets it. */
  private boot(life: Life): Effect.Effect<Started<R>> {
    const { backend, runtimeOptions, journal, network, tamper, workload } = this.settings
    const deployed = this.deploy(life)
    return Effect.gen(this, function* () {
      const scope = yield* Scope.make()
      return yield* Effect.gen(this, function* () {
        const encoded = yield* Scope.extend(
          backend.connect(
            (request, carryOut) => network.send(life, this.pending, request, carryOut),
            (problem) => journal.problem(`${life.name}: ${problem}`)
          ),
          scope
        )
        const holdUp: Writing["holdUp"] = (what, isLost) => network.holdUp(life, this.pending, what, isLost)
        const store = observed({ journal, life, holdUp }, ExecutionStore.make(tamper(encoded)))
        const runtime = ExecutionRuntime.layer({
          ...runtimeOptions.runtime,
          ...workload.runtime,
          leases: runtimeOptions.leases && { ...runtimeOptions.leases, holder: this.keepsName ? this.name : life.name }
        })
        const layer = deployed.pipe(
          Layer.provideMerge(runtime),
          Layer.provideMerge(Layer.succeed(ExecutionStore.ExecutionStore, store))
        )
        return { scope, context: yield* Layer.buildWithScope(layer, scope) }
      }).pipe(Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
    }).pipe(
      Effect.tapErrorCause((cause) =>
        Effect.sync(() => journal.world.note(`${life.name} does not start: ${String(cause)}`))
      ),
      Effect.tapError(() => Effect.sleep("700 millis")),
      Effect.eventually
    )
  }

  /** Runs an effect in it, where it is up; tells when it has ended. */
  run<A, E>(
    what: string,
    effect: Effect.Effect<A, E, Services<R>>,
    ended: (exit: Exit.Exit<A, E>) => void = () => {}
  ): void {
    const { life, started } = this
    if (life === undefined || started === undefined || !life.alive) return
    const { world } = this.settings.journal
    world.note(`${life.name} ${what}`)
    life.waiting.add(what)
    life.run(
      Effect.onExit(Effect.provide(effect, started.context), (exit) =>
        Effect.sync(() => {
          life.waiting.delete(what)
          if (Exit.isFailure(exit)) world.note(`${life.name} ${what}: ${String(exit.cause).split("\n")[0]}`)
          ended(exit)
        })
      )
    )
  }

  /** The same of what nobody waits for, and nobody need know of. */
  ask<A, E>(effect: Effect.Effect<A, E, Services<R>>, ended: (exit: Exit.Exit<A, E>) => void): void {
    const { life, started } = this
    if (life === undefined || started === undefined || !life.alive) return
    life.run(Effect.onExit(Effect.provide(effect, started.context), (exit) => Effect.sync(() => ended(exit))))
  }

  /** It stops dead after so many more steps. */
  kill(steps: number): void {
    if (this.life !== undefined) this.life.left = steps
  }

  /** A death that was to come does not come any more. */
  spare(): void {
    if (this.life !== undefined) this.life.left = undefined
  }

  /** It stops dead at once. */
  die(): void {
    this.life?.die()
  }

  freeze(): void {
    this.life?.freeze()
  }

  thaw(): void {
    this.life?.thaw()
  }

  /** Ends it as it should end, and then tells what it has left behind: fibers that still run. */
  stop(ended: (fibers: number) => void = () => {}): void {
    const { life, started } = this
    if (life === undefined || started === undefined || !life.alive) {
      life?.die()
      ended(0)
      return
    }
    const { world } = this.settings.journal
    world.note(`${life.name} stops`)
    this.started = undefined
    life.run(
      Effect.onExit(Scope.close(started.scope, Exit.void), () =>
        Effect.sync(() => {
          // What was told to stop has a moment to do so.
          world.after(1_000_000, () => {
            const { alive, fibers } = life
            life.die()
            ended(alive ? fibers : 0)
          })
        })
      )
    )
  }
}
