// The structure that docs/architecture.md describes, as rules: `npm run structure` checks them.

/** Public modules by name, and rooms of `src/internal`, as the pattern of their files. */
const files = ({ modules, rooms }) => `^src/((${modules.join("|")})\\.ts$|internal/(${rooms.join("|")})/)`

const models = {
  modules: [
    "Commit",
    "DeadLetter",
    "EncodedStore",
    "Event",
    "Execution",
    "Ids",
    "Json",
    "Lease",
    "Metrics",
    "PublishedDefinition",
    "StoreError",
    "Time",
    "TraceContext"
  ],
  // What every part may use.
  rooms: ["clock", "codec", "options", "telemetry", "util"]
}
const store = { modules: ["ExecutionStore"], rooms: ["executionCache", "shapes", "store"] }
const drivers = {
  modules: [
    "LibsqlSqlClient",
    "LibsqlStore",
    "MemoryStore",
    "RqliteClient",
    "RqliteError",
    "RqliteStore",
    "SqlDriver",
    "SqlStore",
    "SqliteStore"
  ],
  rooms: [
    "groupCommit",
    "hrana",
    "http",
    "libsql",
    "memory",
    "rqlite",
    "rqliteClient",
    "schema",
    "sql",
    "sqlite",
    "sqliteDriver",
    "sqlClient",
    "sqlStore",
    "sqlTransfer",
    "sqlDatabase"
  ]
}
// The program `holdfast`, which puts stores and commands together.
const program = { modules: [], rooms: ["cli", "cliCommands", "cliHealth", "cliServe", "cliTransfer"] }
const join = (...layers) => ({
  modules: layers.flatMap(({ modules }) => modules),
  rooms: layers.flatMap(({ rooms }) => rooms)
})

/** Files of a layer import those of these layers, and no others of `src`. What is in none of the layers below is a worker. */
const imports = (name, comment, from, ...layers) => ({
  name,
  comment,
  severity: "error",
  from: { path: files(from) },
  to: { path: "^src/", pathNot: files(join(from, ...layers)) }
})

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    imports("models", "Models know of models alone.", models),
    imports("store", "The store knows of models, and of no driver and no worker.", store, models),
    imports("drivers", "A driver knows of models and the store, and of no worker.", drivers, store, models),
    {
      name: "workers",
      comment: "A worker knows of models and the store, and of no driver.",
      severity: "error",
      from: { path: "^src/", pathNot: [files(join(models, store, drivers, program)), "^src/(index\\.ts$|testing/)"] },
      to: { path: files(drivers) }
    },
    {
      name: "program",
      comment: "Nothing is built on the program: the packages that it needs are not those of the library.",
      severity: "error",
      from: { path: "^src/", pathNot: files(program) },
      to: { path: files(program) }
    },
    {
      name: "rooms",
      comment: "Between two rooms imports go one way.",
      severity: "error",
      scope: "folder",
      from: { path: "^src/internal/[^/]+$" },
      to: { circular: true, viaOnly: { path: "^src/internal/" } }
    },
    {
      name: "no-circular",
      comment: "Modules that need each other to load are one module. Types may refer to each other.",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } }
    },
    {
      name: "testing",
      comment: "The contract suite and the simulation are for tests.",
      severity: "error",
      from: { pathNot: "^(src/testing|test)/" },
      to: { path: "^src/testing/" }
    },
    {
      name: "declared",
      comment: "What the package needs to run is in its dependencies or among its peers.",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["unknown", "undetermined", "npm-no-pkg", "npm-unknown", "npm-dev"],
        dependencyTypesNot: ["npm", "npm-peer", "npm-optional"]
      }
    }
  ],
  options: {
    // The pages of the monitor, which are bundled with what they need.
    exclude: { path: "^src/monitor/" },
    doNotFollow: { path: "node_modules" },
    // Imports of types count too.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] }
  }
}
