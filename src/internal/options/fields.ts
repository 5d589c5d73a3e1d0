import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { isObject } from "./decode.js"

/** A value that is used as it is; `description` says what it should be. */
export const value = <A>(is: (u: unknown) => u is A, description: string): Schema.Schema<A> =>
  Schema.declare(is, { description })

/** A value that is used as it is, and whose type is known without it. */
export const checked = (is: (u: unknown) => boolean, description: string): Schema.Schema<unknown> =>
  value((u): u is unknown => is(u), description)

/** A value of another type, made of what is given. */
export const made = <A>(
  make: (u: unknown) => Option.Option<A>,
  is: (u: unknown) => u is A,
  description: string
): Schema.Schema<A, unknown> =>
  Schema.transformOrFail(Schema.Unknown, Schema.declare(is), {
    strict: true,
    decode: (input, _, ast) =>
      Option.match(make(input), {
        onNone: () => ParseResult.fail(new ParseResult.Type(ast, input)),
        onSome: ParseResult.succeed
      }),
    encode: ParseResult.succeed
  }).annotations({ description })

/** An option that need not be there. */
export const optional = <A, I>(field: Schema.Schema<A, I>): Schema.Schema<A | undefined, I | undefined> =>
  Schema.UndefinedOr(field)

export const flag = value(Predicate.isBoolean, "true or false")

export const callable = value(Predicate.isFunction, "a function")

export const schedule = value(Schedule.isSchedule, "a Schedule")

export const text = value((u): u is string => Predicate.isString(u) && u.isWellFormed(), "a string that is Unicode")

/** A string that is as a check wants it. */
export const checkedText = (is: (text: string) => boolean, description: string): Schema.Schema<string> =>
  value((u): u is string => Predicate.isString(u) && is(u), description)

/** One of some words. */
export const oneOf = <const Words extends ReadonlyArray<string>>(...words: Words): Schema.Schema<Words[number]> => {
  const known: ReadonlyArray<unknown> = words
  return value(
    (u): u is Words[number] => known.includes(u),
    `one of ${words.map((word) => JSON.stringify(word)).join(", ")}`
  )
}

/** A whole number of at least, and of at most, so much. */
export const whole = (least: number, most = Number.MAX_SAFE_INTEGER): Schema.Schema<number> =>
  value(
    (u): u is number => Predicate.isNumber(u) && Number.isSafeInteger(u) && u >= least && u <= most,
    most === Number.MAX_SAFE_INTEGER ? `a whole number of ${least} or more` : `a whole number of ${least} to ${most}`
  )

/** A whole number, or one that nothing reaches. */
export const wholeOrInfinity = (least: number): Schema.Schema<number> =>
  value(
    (u): u is number =>
      u === Number.POSITIVE_INFINITY || (Number.isSafeInteger(u) && Predicate.isNumber(u) && u >= least),
    `a whole number of ${least} or more, or Infinity`
  )

/** An object of nothing but functions. */
export const functions = (description: string): Schema.Schema<object> =>
  value(
    (u): u is object => isObject(u) && Object.values(u).every((member) => Predicate.isFunction(member)),
    description
  )

/** An object, whose own options somebody else reads. */
export const object = value(isObject, "an object")

/** Whether there is something, or the options of it. */
export const flagOrObject = checked((u) => Predicate.isBoolean(u) || isObject(u), "true or false, or an object")

/** An object with these functions. */
export const methods = (...names: ReadonlyArray<string>): Schema.Schema<object> =>
  value(
    (u): u is object =>
      Predicate.isObject(u) && names.every((name) => Predicate.hasProperty(u, name) && Predicate.isFunction(u[name])),
    `an object with ${names.join(" and ")}`
  )

// What is below zero, or no number, Effect takes as none at all.
const isNegative = (u: unknown): boolean =>
  Predicate.isNumber(u) || Predicate.isBigInt(u)
    ? !(u >= 0)
    : Array.isArray(u)
      ? u.some(isNegative)
      : Predicate.isString(u) && u.startsWith("-")

/** What a duration is made of, as far as it is one. */
export const toDuration = (u: unknown): Option.Option<Duration.Duration> =>
  isNegative(u) ? Option.none() : Duration.decodeUnknown(u)

/** The same of a duration that ends. */
export const toFiniteDuration = (u: unknown): Option.Option<Duration.Duration> =>
  Option.filter(toDuration(u), Duration.isFinite)

const durationThat = (allows: (duration: Duration.Duration) => boolean, description: string) =>
  made((u) => Option.filter(toDuration(u), allows), Duration.isDuration, description)

/** A duration, which may be none at all. */
export const delay = durationThat(Duration.isFinite, 'a finite duration such as "5 seconds"')

/** A duration, which may be none at all, or for ever. */
export const patience = durationThat(() => true, 'a duration such as "5 seconds"')

const isSome = Duration.greaterThanOrEqualTo("1 millis")

/** A duration within which something can happen. */
export const time = durationThat(
  (duration) => Duration.isFinite(duration) && isSome(duration),
  'a finite duration of at least 1 millisecond, such as "5 seconds"'
)

/** A duration within which something can happen, or for ever. */
export const timeOrInfinity = durationThat(isSome, 'a duration of at least 1 millisecond, such as "5 seconds"')

const textOf = (u: Redacted.Redacted<unknown>): Option.Option<string> =>
  Option.filter(Option.liftThrowable(() => Redacted.value(u))(), Predicate.isString)

/** A secret that was given as it is, or hidden already. */
export const toSecret = (u: unknown): Option.Option<Redacted.Redacted> => {
  if (Predicate.isString(u)) return Option.some(Redacted.make(u))
  return Redacted.isRedacted(u) ? Option.map(textOf(u), (text) => Redacted.make(text)) : Option.none()
}

const isSecret = (u: unknown): u is Redacted.Redacted => Redacted.isRedacted(u) && Option.isSome(textOf(u))

export const secret = made(toSecret, isSecret, "a string, or a Redacted of one")

const isEffect = (u: unknown): u is Effect.Effect<unknown, unknown> => Effect.isEffect(u)

/** A secret, or what gives one. */
export const secretSource = made<Redacted.Redacted | Effect.Effect<unknown, unknown>>(
  (u) => (isEffect(u) ? Option.some(u) : toSecret(u)),
  (u): u is Redacted.Redacted | Effect.Effect<unknown, unknown> => isEffect(u) || isSecret(u),
  "a string, a Redacted of one, or an effect of either"
)
