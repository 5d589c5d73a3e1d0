import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type { StoreRejected } from "../../StoreError.js"
import { show } from "../codec/reader.js"
import { at } from "../codec/stringify.js"
import { rejected } from "../codec/validate.js"

interface Problem {
  readonly path: string
  readonly detail: string
}

/** What is wrong with the shape of a value, or nothing. `path` is where it is, `inner` where its members are. */
export type Shape = (u: unknown, path: string, inner?: string) => Problem | undefined

export const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

const expected = (what: string, u: unknown, path: string): Problem => ({
  path,
  detail: `expected ${what}, found ${show(u)}`
})

const typed =
  (type: "string" | "number" | "function"): Shape =>
  (u, path) =>
    typeof u === type ? undefined : expected(`a ${type}`, u, path)

export const flag: Shape = (u, path) => (typeof u === "boolean" ? undefined : expected("true or false", u, path))

/** One of some words. */
export const oneOf = (...words: ReadonlyArray<unknown>): Shape => {
  const what = `one of ${words.join(", ")}`
  return (u, path) => (words.includes(u) ? undefined : expected(what, u, path))
}

export const text = typed("string")
export const number = typed("number")
export const callable = typed("function")

/** An object, of which these members have shapes of their own. */
export const object = (members: { readonly [key: string]: Shape } = {}): Shape => {
  const shapes = Object.entries(members)
  return (u, path, inner = path) => {
    if (!isObject(u)) return expected("an object", u, path)
    for (const [key, shape] of shapes) {
      const problem = shape(u[key], inner === "" ? key : `${inner}.${key}`)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

/** An object that has no other members than these: whoever wrote one of them wrongly would select more than he means. */
export const onlyOf = <A extends object>(members: { readonly [K in keyof Required<A>]: Shape }): Shape => {
  const names = Object.keys(members)
  const shape = object(members)
  return (u, path, inner = path) => {
    const problem = shape(u, path, inner)
    if (problem !== undefined || !isObject(u)) return problem
    const other = Object.keys(u).find((key) => u[key] !== undefined && !names.includes(key))
    return other === undefined
      ? undefined
      : { path: at(inner, other), detail: `no such part: there are ${names.join(", ")}` }
  }
}

export const anything: Shape = () => undefined

export const list =
  (item: Shape = anything): Shape =>
  (u, path) => {
    if (!Array.isArray(u)) return expected("an array", u, path)
    if (item === anything) return undefined
    for (let i = 0; i < u.length; i++) {
      const problem = item(u[i], at(path, i))
      if (problem !== undefined) return problem
    }
    return undefined
  }

/** Whatever can be walked through. */
export const iterable: Shape = (u, path) => (Predicate.isIterable(u) ? undefined : expected("an iterable", u, path))

export const optional =
  (shape: Shape): Shape =>
  (u, path, inner) =>
    u === undefined ? undefined : shape(u, path, inner)

/** An argument by its name, which errors show where it is wrong as a whole. */
type Argument = readonly [name: string, shape: Shape]

/** An argument that is looked at where it is used. */
export const plain: Argument = ["", anything]

const refusal = (operation: string, { detail, path }: Problem): StoreRejected => rejected({ operation }, path, detail)

/** The error that refuses arguments, or nothing. */
export const problemOf = (
  operation: string,
  shapes: ReadonlyArray<Argument>,
  given: ReadonlyArray<unknown>
): StoreRejected | undefined => {
  for (const [place, [name, shape]] of shapes.entries()) {
    const problem = shape(given[place], name, "")
    if (problem !== undefined) return refusal(operation, problem)
  }
  return undefined
}

/** An operation that is refused where its arguments have another shape: each part of them can be looked at from there on. */
export const taking =
  <Args extends ReadonlyArray<unknown>, A, E, R>(
    operation: string,
    shapes: ReadonlyArray<Argument>,
    run: (...args: Args) => Effect.Effect<A, E, R>
  ): ((...args: Args) => Effect.Effect<A, E | StoreRejected, R>) =>
  (...args) => {
    const problem = problemOf(operation, shapes, args)
    return problem === undefined ? run(...args) : Effect.fail(problem)
  }

/** The same for each of several, of which the others go on. */
export const takingEach =
  <Asked, A, E>(
    operation: string,
    name: string,
    shape: Shape,
    run: (asked: ReadonlyArray<Asked>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>>
  ): ((asked: ReadonlyArray<Asked>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E | StoreRejected>>>) =>
  (asked) => {
    const whole = list()(asked, name)
    if (whole !== undefined) return Effect.succeed([Exit.fail(refusal(operation, whole))])
    const problems = asked.map((one, i) => shape(one, at(name, i), ""))
    if (problems.every((problem) => problem === undefined)) return run(asked)
    const right = asked.filter((_, i) => problems[i] === undefined)
    return Effect.map(run(right), (exits) => {
      let next = 0
      return problems.flatMap(
        (problem): ReadonlyArray<Exit.Exit<A, E | StoreRejected>> =>
          problem === undefined ? exits.slice(next, ++next) : [Exit.fail(refusal(operation, problem))]
      )
    })
  }
