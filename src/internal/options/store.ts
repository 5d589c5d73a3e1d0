import type * as limits from "../util/limits.js"
import { type Fields, isObject } from "./decode.js"
import { checkedText, delay, flag, optional, value, whole } from "./fields.js"

const limit = optional(whole(1))

/** How large what a store is given may be. */
const limitFields = {
  maxIdBytes: limit,
  maxEventBytes: limit,
  maxContextBytes: limit,
  maxResultBytes: limit,
  maxCommitBytes: limit,
  maxCommitItems: limit
} satisfies Fields<limits.Options>

const isCount = (u: unknown): boolean => u === undefined || (Number.isSafeInteger(u) && Number(u) >= 1)

/** How much is remembered of executions. */
const executionCache = value(
  (u): u is false | { readonly capacity?: number | undefined; readonly maxBytes?: number | undefined } =>
    u === false || (isObject(u) && isCount(u.capacity) && isCount(u.maxBytes)),
  "false, or an object whose capacity and maxBytes are whole numbers of 1 or more"
)

/** The options of all stores. */
export const storeFields = {
  ...limitFields,
  traceMax: optional(whole(0)),
  executionCache: optional(executionCache)
}

const pattern = /^(?:[A-Za-z_][A-Za-z0-9_]{0,29})?$/

export const isPrefix = (text: string): boolean => pattern.test(text)
export const prefixForm = "at most 30 letters, digits and underscores, not beginning with a digit"

/** Names reach SQL as text, since they cannot be bound: only what cannot be anything else may be one. */
export const prefix = checkedText(isPrefix, prefixForm)

/** The options of all stores in SQL. */
export const sqlFields = {
  ...storeFields,
  prefix: optional(prefix),
  createSchema: optional(flag),
  resolveTimeout: optional(delay)
}

/** The option of stores that let writes share a transaction. */
export const groupCommit = optional(flag)
