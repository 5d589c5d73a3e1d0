import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type StoreError, StoreRejected, StoreUnavailable } from "../../../StoreError.js"
import type { BrokenStatement } from "./brokenLibrary.js"
import * as brokenLibrary from "./brokenLibrary.js"
import type { Dice } from "./dice.js"
import type { Kind, Outcome, RequestFault, Trouble } from "./plan.js"
import type { Life } from "./processLife.js"
import type { World } from "./world.js"

/** A fault that waits for the next request of its kind. */
export interface Pending {
  readonly how: RequestFault
  readonly micros: number
  readonly kind: Kind
}

export interface Request {
  readonly operation: string
  readonly executionId?: string | undefined
  readonly write: boolean
}

type Failure = StoreUnavailable | StoreRejected

const unavailable = (
  { executionId, operation }: Request,
  outcome: "not-applied" | "unknown",
  detail: string,
  reason: StoreUnavailable["reason"] = "connection"
): StoreUnavailable => new StoreUnavailable({ operation, executionId, reason, outcome, detail })

const rejected = (
  { executionId, operation }: Request,
  reason: "disk-full" | "read-only",
  detail: string
): StoreRejected => new StoreRejected({ operation, executionId, reason, detail })

/** What processes write on their own account. */
const upkeep: ReadonlySet<string> = new Set([
  "open",
  "claimActivities",
  "leaveLeases",
  "markProcessed",
  "releaseActivities",
  "releaseDelayed",
  "releaseOrphans",
  "renewLeases"
])

const kindOf = ({ operation, write }: Request): Kind => {
  if (!write) return operation.startsWith("loadForEvent") ? "event" : "read"
  return upkeep.has(operation) ? "upkeep" : "write"
}

/** How often is looked whether a lease or a claim is lost, and how long who has lost it stays frozen, in microseconds. */
const lookEvery = 10_000
const moment = 5_000

/** Carries out a request, of which one statement may fail. */
export type CarryOut<A, E> = (broken?: BrokenStatement) => Exit.Exit<A, E>

/** The one database of a simulation, and the way to it. */
export class Network {
  private trouble: { readonly how: Trouble; readonly until: number } | undefined
  private faults = true

  constructor(
    readonly world: World,
    private readonly dice: Dice,
    private readonly nature: {
      /** Whether it takes statements. What was carried out may be so again then: a driver must bear that, a backend never sees it. */
      readonly sql: boolean
      /** Whether it is within its only process, as a file is: no answer is lost there. */
      readonly alone: boolean
      /** Whether it dies with the process. */
      readonly exclusive: boolean
    }
  ) {}

  /** From now on the database is in trouble, for so many microseconds. */
  disturb(how: Trouble, micros: number): void {
    this.trouble = { how, until: this.world.now + micros }
  }

  /** From now on nothing goes wrong any more. What is on its way still arrives. */
  calm(): void {
    this.trouble = undefined
    this.faults = false
  }

  get isCalm(): boolean {
    return !this.faults
  }

  /** Sends a request from a process to the database, which carries it out at one moment, `carryOut`. */
  send<A, E>(life: Life, pending: Array<Pending>, request: Request, carryOut: CarryOut<A, E>) {
    return this.nature.alone
      ? this.within(life, pending, request, carryOut)
      : this.across(life, pending, request, carryOut)
  }

  /**
   * What may come between what a process does and the outcome that it sends: it is frozen until that is not its own any more, and a moment
   * longer, in which whoever has it now may not have done it yet.
   */
  holdUp(life: Life, pending: Array<Pending>, what: Outcome, isLost: () => boolean): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { dice, world } = this
      const at = this.faults && !this.nature.alone ? pending.findIndex(({ kind }) => kind === what) : -1
      const [fault] = at < 0 ? [] : pending.splice(at, 1)
      if (fault === undefined) return Effect.void
      world.note(`${life.name} is frozen before it sends the ${what}`)
      life.trouble()
      life.freeze()
      const until = world.now + fault.micros
      const look = (): void => {
        if (!life.alive) return
        if (world.now < until && !isLost()) world.after(lookEvery, look)
        else world.after(dice.below(moment), () => life.thaw())
      }
      look()
      return Effect.yieldNow()
    })
  }

  /** Within the process nothing comes between the request and its answer. */
  private within<A, E>(life: Life, pending: Array<Pending>, request: Request, carryOut: CarryOut<A, E>) {
    return Effect.suspend((): Effect.Effect<A, E | Failure> => {
      const fault = this.faults ? this.take(pending, request) : undefined
      this.begin(life, request, fault)
      const now = Effect.suspend((): Effect.Effect<A, E | Failure> => {
        const refusal = this.refusal(request)
        if (refusal !== undefined || fault !== undefined) life.trouble()
        if (refusal !== undefined) return Effect.fail(refusal)
        this.world.mark(`${life.name} ${request.operation} ${request.executionId ?? ""}`)
        switch (fault?.how) {
          case undefined:
          case "slow":
          case "frozen":
            return carryOut()
          case "statement":
            return carryOut(brokenLibrary.ofNumber(fault.micros))
          case "fatal":
            if (this.nature.exclusive) return carryOut()
            carryOut()
            life.dieOfRequest()
            return Effect.never
          default:
            return Effect.fail(unavailable(request, "not-applied", "the database is locked", "busy"))
        }
      })
      const micros = fault?.how === "slow" ? fault.micros : this.dice.chance(0.1) ? this.dice.between(50, 1_500) : 0
      return micros === 0 ? now : Effect.delay(now, Duration.micros(BigInt(micros)))
    })
  }

  /** The answer never comes where the process has died, but what is on its way is carried out all the same. */
  private across<A, E>(life: Life, pending: Array<Pending>, request: Request, carryOut: CarryOut<A, E>) {
    return Effect.async<A, E | Failure>((resume) => {
      if (!life.alive) return
      const { world } = this
      const fault = this.faults ? this.take(pending, request) : undefined
      this.begin(life, request, fault)
      const answer = (exit: Exit.Exit<A, E | Failure>, micros = this.dice.between(50, 1_500)) => {
        world.after(micros, () => {
          if (!life.alive) return
          if (Exit.isFailure(exit)) life.trouble()
          resume(exit)
        })
      }
      const arrive = () => {
        const refusal = this.refusal(request)
        if (refusal !== undefined) {
          answer(Exit.fail(refusal))
          return
        }
        world.mark(`${life.name} ${request.operation} ${request.executionId ?? ""}`)
        if (fault?.how === "fatal") {
          carryOut()
          life.dieOfRequest()
          return
        }
        this.meet(fault, request, answer, carryOut)
      }
      world.after(this.dice.between(50, 1_500) + (fault?.how === "slow" ? fault.micros : 0), arrive)
    })
  }

  private begin(life: Life, { operation }: Request, fault: Pending | undefined): void {
    if (fault === undefined) return
    life.trouble()
    this.world.note(`${life.name} ${operation}: ${fault.how}`)
    if (fault.how !== "frozen") return
    life.freeze()
    this.world.after(fault.micros, () => life.thaw())
  }

  /** Carries out a request, or does with it what the fault says. */
  private meet<A, E>(
    fault: Pending | undefined,
    request: Request,
    answer: (exit: Exit.Exit<A, E | Failure>, micros?: number) => void,
    carryOut: CarryOut<A, E>
  ): void {
    const lost = () =>
      answer(Exit.fail(unavailable(request, "unknown", "the connection broke")), this.dice.between(1_000, 500_000))
    switch (fault?.how) {
      case "refused":
        answer(Exit.fail(unavailable(request, "not-applied", "the connection is refused")))
        break
      case "lost":
        carryOut()
        lost()
        break
      case "dropped":
        lost()
        break
      case "statement":
        answer(carryOut(brokenLibrary.ofNumber(fault.micros)))
        break
      case "late":
        this.world.after(fault.micros, () => void carryOut())
        lost()
        break
      case "twice":
        carryOut()
        if (this.nature.sql) this.world.after(fault.micros, () => void carryOut())
        lost()
        break
      default:
        answer(carryOut())
    }
  }

  /** What waits for a request like this; a read can only be refused or be slow. */
  private take(pending: Array<Pending>, request: Request): Pending | undefined {
    const { write } = request
    const kind = kindOf(request)
    const at = pending.findIndex((fault) => fault.kind === kind || (fault.kind === "read" && kind === "event"))
    if (at < 0) return undefined
    const [fault] = pending.splice(at, 1)
    if (
      fault === undefined ||
      fault.how === "slow" ||
      fault.how === "frozen" ||
      (fault.how === "statement" && this.nature.sql)
    )
      return fault
    return write && fault.how !== "statement" ? fault : { ...fault, how: "refused" }
  }

  private refusal(request: Request): Failure | undefined {
    if (this.trouble === undefined || this.world.now >= this.trouble.until) return undefined
    switch (this.trouble.how) {
      case "away":
        return unavailable(request, "not-applied", "the server is away")
      case "busy":
        return unavailable(request, "not-applied", "the database is locked", "busy")
      case "disk-full":
        return request.write ? rejected(request, "disk-full", "the disk is full") : undefined
      case "read-only":
        return request.write ? rejected(request, "read-only", "the database cannot be written") : undefined
    }
  }
}

/** How a process reaches the database. */
export type Send = <A, E>(
  request: Request,
  carryOut: CarryOut<A, E>
) => Effect.Effect<A, E | StoreUnavailable | StoreRejected>

/** The same for an effect that does all it does at once. */
export const sendEffect =
  (send: Send) =>
  <A>(request: Request, effect: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
    send(request, () => Effect.runSyncExit(effect))
