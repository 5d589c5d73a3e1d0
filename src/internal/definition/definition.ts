import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { Class as PipeableClass } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import type { Any as AnyActivity } from "../../Activity.js"
import type { Any, CheckOptions, ImplementationOptions, MigrateOptions, Schemas } from "../../Definition.js"
import { ExecutionRuntime } from "../../ExecutionRuntime.js"
import { contractOf as contractOfActivity } from "../activity/contract.js"
import { object, optional, plain, problemOf, taking } from "../shapes/shape.js"
import * as checks from "./check.js"
import * as client from "./client.js"
import * as contracts from "./contract.js"
import * as migrating from "./migrateAll.js"
import * as migrations from "./migrations.js"
import * as publishing from "./publish.js"
import * as steps from "./steps.js"
import * as transition from "./transition.js"

export const TypeId: unique symbol = Symbol.for("holdfast/Definition")

export interface Options extends contracts.Options {
  readonly children?: { readonly [key: string]: Any } | undefined
  readonly activities?: { readonly [key: string]: AnyActivity } | undefined
}

/** What every definition is; its client and its functions on steps are assigned to it. */
class Base extends PipeableClass() implements Any {
  readonly [TypeId]: typeof TypeId = TypeId
  readonly name: string
  readonly version: number
  readonly schemas: Schemas
  constructor(readonly contract: contracts.Contract) {
    super()
    this.name = contract.name
    this.version = contract.version
    this.schemas = contract.schemas
  }
}

export const isDefinition = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** Also one that another copy of this module made, as of a command line beside the application. */
const isBase = (definition: Any): definition is Base => isDefinition(definition) && "contract" in definition

const contractOf = (definition: Any): contracts.Contract => {
  if (isBase(definition)) return definition.contract
  throw new Error(`${String(definition.name)} was not made by Definition.make`)
}

const implementation = (contract: contracts.Contract) => {
  const make = <E, R, RP>(handlers: unknown, options?: ImplementationOptions<E, RP>) =>
    transition.make<E, R, RP>(contract, handlers, options)

  const toTransition = <E, R, RP>(handlers: unknown, options?: ImplementationOptions<E, RP>) =>
    Either.getOrThrowWith(make<E, R, RP>(handlers, options), (error) => error)

  const toLayer = <E, R, RP, EX, RX>(
    handlers: Effect.Effect<unknown, EX, RX> | object,
    options?: ImplementationOptions<E, RP>
  ) =>
    Layer.scopedDiscard(
      Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime
        const built = Effect.isEffect(handlers) ? yield* handlers : handlers
        const { name, oldest, version } = contract
        yield* runtime.register(name, yield* make<E, R, RP>(built, options), { version, migratesFrom: oldest })
      })
    )

  return { of: <H>(handlers: H): H => handlers, toTransition, toLayer }
}

export const migration = migrations.onDecoded

const contractsOf = (definitions: Any | ReadonlyArray<Any>): ReadonlyArray<contracts.Contract> =>
  (isDefinition(definitions) ? [definitions] : definitions).map(contractOf)

const options = optional(object())

export const check = (definitions: Any | ReadonlyArray<Any>, given?: CheckOptions) =>
  Stream.suspend(() => {
    const problem = problemOf("check", [["options", options]], [given])
    return problem === undefined ? checks.check(contractsOf(definitions), given) : Stream.fail(problem)
  })

export const migrateAll = taking(
  "migrateAll",
  [plain, ["options", options]],
  (definitions: Any | ReadonlyArray<Any>, given?: MigrateOptions) =>
    Effect.suspend(() => migrating.migrateAll(contractsOf(definitions), given))
)

export const describe = (definition: Any) => Effect.suspend(() => publishing.describe(contractOf(definition)))

export const publish = (definition: Any) => Effect.suspend(() => publishing.publish(contractOf(definition)))

export const make = (name: string, { activities = {}, children = {}, ...options }: Options): Any => {
  const contract = contracts.make(name, options, {
    children: new Map(Object.entries(children).map(([key, child]) => [key, contractOf(child)])),
    activities: new Map(Object.entries(activities).map(([key, activity]) => [key, contractOfActivity(activity)]))
  })
  return Object.assign(new Base(contract), client.make(contract), steps.make(contract), implementation(contract))
}
