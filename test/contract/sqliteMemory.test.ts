import * as SqliteStore from "holdfast/SqliteStore"
import * as ContractShare from "../support/contractShare.js"

const layerWith = (options: Omit<SqliteStore.Options, "filename">) =>
  SqliteStore.layer({ ...options, filename: ":memory:" })

// It is the store on a file, which has the whole suite, without what other processes may do.
ContractShare.suite("SqliteStore in memory", layerWith({}), { layerWith, part: { of: 6, rest: 2 } })
