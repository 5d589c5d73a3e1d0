import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractShare from "../support/contractShare.js"
import * as Libsql from "../support/libsql.js"

const layerWith = (options: Omit<LibsqlStore.Options, "url">) => Libsql.layer({ ...options, url: ":memory:" })

// It is the store on a file but for its one connection, on which all commits and reads are.
ContractShare.suite("LibsqlStore in memory", layerWith({}), { layerWith, raw: Libsql.raw, part: { of: 6, rest: 5 } })
