import type * as limits from "../util/limits.js"
import type { Fields } from "./decode.js"
import { checkedText, delay, flag, optional, whole } from "./fields.js"

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

/** The options of all stores. */
export const storeFields = { ...limitFields, traceMax: optional(whole(0)) }

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
