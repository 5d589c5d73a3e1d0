import * as SqliteStore from "holdfast/SqliteStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"

const layerWith = (options: Omit<SqliteStore.Options, "filename">) =>
  SqliteStore.layer({ ...options, filename: ":memory:" })

ContractSuite.suite("SqliteStore in memory", layerWith({}), { layerWith })
