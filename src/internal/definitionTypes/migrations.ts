import type { JsonObject } from "../../Json.js"

/**
 * The context and the path of an execution, as a migration gets them.
 *
 * @since 0.1.0
 * @category migrations
 */
export interface StoredState<out Context = JsonObject> {
  readonly context: Context
  readonly path: string | null
}

/**
 * What a migration makes of them. Without `path` the path stays as it is.
 *
 * @since 0.1.0
 * @category migrations
 */
export interface MigratedState<out Context> {
  readonly context: Context
  readonly path?: string | null | undefined
}

/**
 * Takes an execution on from one version of a definition to the next: the stored context in, the stored context of the next version out. It
 * must be a pure function: it runs whenever an execution is read that is not migrated yet, and again after a crash.
 *
 * @since 0.1.0
 * @category migrations
 */
export type Migration<out New = object> = (old: StoredState) => MigratedState<New>

type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"

// What is counted step by step, the compiler can count only so far.
type IsCounted<Version extends number> = number extends Version
  ? false
  : `${Version}` extends `${Exclude<Digit, "0">}${Digit | ""}`
    ? true
    : false

type Below<
  Version extends number,
  Counted extends ReadonlyArray<unknown> = [unknown],
  Found = never
> = Counted["length"] extends Version | 100 ? Found : Below<Version, [...Counted, unknown], Found | Counted["length"]>

type Before<Version extends number, Counted extends ReadonlyArray<unknown> = []> = [
  ...Counted,
  unknown
]["length"] extends Version | 100
  ? Counted["length"]
  : Before<Version, [...Counted, unknown]>

/**
 * The migrations of a definition: the one under each version leads to the next. They begin at any version and lead up to the definition's
 * own without a gap; the last must make what its schema of the context encodes to.
 *
 * @since 0.1.0
 * @category migrations
 */
export type Migrations<Version extends number, ContextEncoded> =
  IsCounted<Version> extends true
    ? { readonly [V in Below<Version>]?: Migration<V extends Before<Version> ? ContextEncoded : object> | undefined }
    : { readonly [version: number]: Migration | undefined }
