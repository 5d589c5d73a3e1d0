import * as SqliteStore from "holdfast/SqliteStore"
import * as ContractShare from "../support/contractShare.js"

const layerWith = (options: Omit<SqliteStore.Options, "filename">) =>
  SqliteStore.layer({ ...options, filename: ":memory:" })

// It is the store on a file without what other processes may do.
ContractShare.suite("SqliteStore in memory", layerWith({}), { layerWith, part: { of: 12, rest: 7 } })
