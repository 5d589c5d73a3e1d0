/** The part of better-sqlite3 that the tests use: it comes with @effect/sql-sqlite-node, without types of its own. */
declare module "better-sqlite3" {
  namespace Database {
    interface Column {
      readonly name: string
      readonly type: string | null
    }
    interface Statement {
      readonly reader: boolean
      readonly readonly: boolean
      raw(): this
      safeIntegers(): this
      columns(): ReadonlyArray<Column>
      run(...params: ReadonlyArray<unknown>): unknown
      all(...params: ReadonlyArray<unknown>): ReadonlyArray<ReadonlyArray<unknown>>
    }
    interface Database {
      prepare(sql: string): Statement
      exec(sql: string): void
      pragma(sql: string): unknown
      close(): void
    }
  }
  const Database: new (filename: string) => Database.Database
  export = Database
}
