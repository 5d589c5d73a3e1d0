// Those that stand for more than their primary code says.
const extended: { readonly [code: number]: string } = {
  275: "CONSTRAINT_CHECK",
  531: "CONSTRAINT_COMMITHOOK",
  787: "CONSTRAINT_FOREIGNKEY",
  1299: "CONSTRAINT_NOTNULL",
  1555: "CONSTRAINT_PRIMARYKEY",
  1811: "CONSTRAINT_TRIGGER",
  2067: "CONSTRAINT_UNIQUE",
  2579: "CONSTRAINT_ROWID",
  3091: "CONSTRAINT_DATATYPE",
  261: "BUSY_RECOVERY",
  517: "BUSY_SNAPSHOT",
  773: "BUSY_TIMEOUT",
  1032: "READONLY_DBMOVED",
  4874: "IOERR_SHMSIZE"
}

const primary: { readonly [code: number]: string } = {
  1: "ERROR",
  2: "INTERNAL",
  3: "PERM",
  4: "ABORT",
  5: "BUSY",
  6: "LOCKED",
  7: "NOMEM",
  8: "READONLY",
  9: "INTERRUPT",
  10: "IOERR",
  11: "CORRUPT",
  12: "NOTFOUND",
  13: "FULL",
  14: "CANTOPEN",
  15: "PROTOCOL",
  16: "EMPTY",
  17: "SCHEMA",
  18: "TOOBIG",
  19: "CONSTRAINT",
  20: "MISMATCH",
  21: "MISUSE",
  22: "NOLFS",
  23: "AUTH",
  24: "FORMAT",
  25: "RANGE",
  26: "NOTADB"
}

/**
 * The name of a result code of SQLite, without `SQLITE_`: from its name, or from its number, whose low byte is the primary code. Empty for
 * anything else.
 */
export const nameOf = (code: unknown): string => {
  if (typeof code === "string") return code.startsWith("SQLITE_") ? code.slice("SQLITE_".length) : ""
  return typeof code === "number" ? (extended[code] ?? primary[code & 0xff] ?? "") : ""
}
