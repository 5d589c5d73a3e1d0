import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Libsql from "../support/libsql.js"

const layerWith = (options: Omit<LibsqlStore.Options, "url">) => Libsql.layer({ ...options, url: ":memory:" })

ContractSuite.suite("LibsqlStore in memory", layerWith({}), { layerWith, raw: Libsql.raw })
