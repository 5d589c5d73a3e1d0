import { execFile, spawn } from "node:child_process"
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { extent, long, longer, shareOfTests } from "../support/extent.js"
import { bundle } from "../support/programs.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as SqldServer from "../support/sqld/server.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const run = promisify(execFile)

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

describe("the replay as a process", () => {
  let project = ""

  /** As `npm start` builds it, elsewhere, so that this does not depend on what is built here. */
  const compile = async () => {
    const tsc = (...args: ReadonlyArray<string>) =>
      run(process.execPath, [join(root, "node_modules/typescript-7/bin/tsc"), ...args], { cwd: project })
    await tsc("-p", join(root, "tsconfig.build.json"), "--outDir", "dist")
    await tsc("-p", "tsconfig.examples.json")
  }

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "holdfast-replay-"))
    for (const name of ["package.json", "tsconfig.base.json", "tsconfig.examples.json", "examples"]) {
      await cp(join(root, name), join(project, name), { recursive: true })
    }
    await symlink(join(root, "node_modules"), join(project, "node_modules"))
    if (long) await compile()
    else await bundle("examples/replay/main.ts", join(project, "build/examples/replay/main.js"))
  })

  afterAll(() => rm(project, { recursive: true, force: true }))

  /** Runs it to its end; `until` looks at what it has said on stderr so far, and gives the signal to send, if any. */
  const replay = (
    args: ReadonlyArray<string>,
    until: (stderr: string) => NodeJS.Signals | undefined = () => undefined
  ): Promise<Ended> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ["build/examples/replay/main.js", ...args], { cwd: project })
      let stdout = ""
      let stderr = ""
      let sent = false
      child.stdout.on("data", (data: Buffer) => {
        stdout += data.toString()
      })
      child.stderr.on("data", (data: Buffer) => {
        stderr += data.toString()
        const signal = sent ? undefined : until(stderr)
        if (signal === undefined) return
        sent = true
        child.kill(signal)
      })
      child.on("error", reject)
      child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }))
    })

  const positions = (stderr: string): ReadonlyArray<number> =>
    Array.from(stderr.matchAll(/^(\d+) of 428 rows$/gm), ([, sent]) => Number(sent))

  /** The signal, when it has shown its progress so often. */
  const afterLines =
    (lines: number, signal: NodeJS.Signals = "SIGKILL") =>
    (stderr: string) =>
      positions(stderr).length >= lines ? signal : undefined

  const table = ({ stdout }: Ended): unknown => {
    const { eventsPerSecond: _, fileBytes: __, ...rest } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")
    return rest
  }

  const states = (file: string) =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const summaries = yield* Stream.runCollect(ExecutionStore.streamExecutions({ limit: 1000 }))
      const executions = yield* Effect.forEach(Chunk.toReadonlyArray(summaries), ({ id }) =>
        Effect.flatten(store.load(id))
      )
      expect((yield* store.pendingOutbox()).entries).toEqual([])
      expect((yield* store.pendingSpawns()).entries).toEqual([])
      expect(yield* store.timers.next).toEqual(Option.none())
      return executions.map(({ activePath, context, id, parentId, status }) => ({
        activePath,
        context,
        id,
        parentId,
        status
      }))
    }).pipe(Effect.provide(SqliteStore.layer({ filename: join(project, file) })), Effect.runPromise)

  it(longer("killed again and again ends with the table and the states of one that was not"), async () => {
    const args = (file: string) => ["--store", `sqlite:./${file}`, "--json", "--verify", "--verbose"]
    const whole = await replay(args("whole.db"))
    expect(whole.code).toBe(0)

    const batches = [17, 23, 31].slice(0, extent({ quick: 1, long: 3 }))
    let before = 0
    for (const batch of batches) {
      const killed = await replay([...args("killed.db"), "--batch", String(batch)], afterLines(4))
      expect(killed).toMatchObject({ code: null, signal: "SIGKILL", stdout: "" })
      const [first, ...rest] = positions(killed.stderr)
      // It went on where the one before it was: perhaps a batch further than that one could still say.
      expect(first).toBeGreaterThanOrEqual(before)
      expect(rest.length).toBeGreaterThanOrEqual(3)
      before = rest.at(-1) ?? 0
    }
    const last = await replay(args("killed.db"))
    expect(last.code).toBe(0)
    expect(positions(last.stderr)[0]).toBeGreaterThanOrEqual(before)
    expect(last.stderr).toContain("75 executions are as the log says")
    expect(table(last)).toEqual({ cases: 60, events: 419, duplicates: 9, timers: 419 })
    expect(table(last)).toEqual(table(whole))
    expect(await states("killed.db")).toEqual(await states("whole.db"))
    expect((await states("killed.db")).length).toBe(75)
  })

  // On other stores than SQLite only among the longer tests: what is killed and goes on is the same program.
  it.runIf(long)(longer("killed on a cluster of rqlite nodes goes on there, and ends with the same table"), () =>
    Effect.gen(function* () {
      const users = { app: { password: "s3cret", permissions: ["query", "execute"] } }
      const { rows, urls } = yield* RqliteServer.make({ nodes: 2, users })
      const nodes = urls.map((url) => url.replace("//", "//app:s3cret@")).join(",")
      const args = ["--store", `rqlite:${nodes}`, "--json", "--verify", "--verbose"]
      const killed = yield* Effect.promise(() => replay([...args, "--batch", "31"], afterLines(4)))
      expect(killed).toMatchObject({ code: null, signal: "SIGKILL", stdout: "" })
      const last = yield* Effect.promise(() => replay(args))
      expect(last).toMatchObject({ code: 0, signal: null })
      expect(table(last)).toEqual({ cases: 60, events: 419, duplicates: 9, timers: 419 })
      expect(last.stderr).toContain("75 executions are as the log says")
      expect(last.stdout).toContain('"fileBytes":null')
      expect(killed.stderr + last.stderr).not.toContain("s3cret")
      expect(yield* rows("SELECT count(*) FROM outbox")).toEqual([[0]])
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  it.runIf(long)(
    longer("killed on a libSQL file goes on there, and ends with the states of one that was not"),
    async () => {
      const args = ["--store", "libsql:file:libsql a.db", "--json", "--verify", "--verbose"]
      const killed = await replay([...args, "--batch", "31"], afterLines(4))
      expect(killed).toMatchObject({ code: null, signal: "SIGKILL", stdout: "" })
      const last = await replay(args)
      expect(last).toMatchObject({ code: 0, signal: null })
      expect(table(last)).toEqual({ cases: 60, events: 419, duplicates: 9, timers: 419 })
      expect(last.stderr).toContain("75 executions are as the log says")
      expect(last.stdout).toMatch(/"fileBytes":[1-9]/)
      expect((await states("libsql a.db")).length).toBe(75)
    }
  )

  it.runIf(long)(longer("killed on a libSQL server goes on there, and ends with the same table"), () =>
    Effect.gen(function* () {
      const { url } = yield* SqldServer.make({ accept: (token) => (token === "s3cret" ? "rw" : "invalid") })
      const args = ["--store", `libsql:${url}?authToken=s3cret`, "--json", "--verify", "--verbose"]
      const killed = yield* Effect.promise(() => replay([...args, "--batch", "31"], afterLines(4)))
      expect(killed).toMatchObject({ code: null, signal: "SIGKILL", stdout: "" })
      const last = yield* Effect.promise(() => replay(args))
      expect(last).toMatchObject({ code: 0, signal: null })
      expect(table(last)).toEqual({ cases: 60, events: 419, duplicates: 9, timers: 419 })
      expect(last.stderr).toContain("75 executions are as the log says")
      expect(last.stdout).toContain('"fileBytes":null')
      expect(killed.stderr + last.stderr).not.toContain("s3cret")
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  it("stopped by Ctrl-C says how to go on, and goes on", async () => {
    const args = ["--store", "sqlite:./stopped.db", "--batch", "20", "--verbose"]
    const stopped = await replay(args, afterLines(3, "SIGINT"))
    expect(stopped).toMatchObject({ code: 130, signal: null, stdout: "" })
    expect(stopped.stderr).toMatch(/^replay: stopped; run the same command again to go on$/m)
    const rest = await replay(args)
    expect(rest.code).toBe(0)
    expect(rest.stdout).toMatch(/^cases {15}60\nevents {14}419\nduplicates skipped {2}9\ntimers armed {8}419\n/)
  })

  it("says of a server that does not answer that it waits for it, and shows no secret", async () => {
    const url = "http://app:s3cret@127.0.0.1:1"
    const stopped = await replay(["--store", `rqlite:${url},${url}`], (stderr) =>
      stderr.includes("waiting for") ? "SIGINT" : undefined
    )
    expect(stopped).toMatchObject({ code: 130, stdout: "" })
    expect(stopped.stderr).toMatch(/^waiting for rqlite at 127\.0\.0\.1:1, 127\.0\.0\.1:1, which does not answer yet$/m)
    expect(stopped.stderr).not.toContain("s3cret")
  })

  it("says without a terminal that it goes on, and of a database what else is in it", async () => {
    await writeFile(join(project, "semicolons.csv"), "case;what;when\n1;A;x\n1;B;y\n2;A;x\n")
    const columns = ["--case", "case", "--activity", "what", "--timestamp", "when"]
    const args = ["--store", "sqlite:./other.db", "--verify"]
    const first = await replay([...args, ...columns, "semicolons.csv"])
    expect(first).toMatchObject({
      code: 0,
      stderr: [
        "replaying semicolons.csv into ./other.db",
        "0 of 3 rows",
        "5 executions are as the log says: 2 cases, 2 counters of activities and the importer",
        ""
      ].join("\n")
    })
    const second = await replay(args)
    expect(second.code).toBe(0)
    expect(second.stdout).toMatch(/^cases {15}60\n/)
    expect(second.stderr).toContain(
      "\n./other.db also holds another log: this one is replayed beside it, and counted alone\n0 of 428 rows\n"
    )
    expect(second.stderr).toContain(
      "75 executions are as the log says: 60 cases, 14 counters of activities and the importer\n"
    )
  })

  it("shows its help", async () => {
    const help = await replay(["--help"])
    expect(help).toMatchObject({ code: 0, stderr: "" })
    expect(help.stdout).toContain("npm start -- [LOG] [OPTIONS]")
  })

  const refusals: ReadonlyArray<
    readonly [what: string, args: ReadonlyArray<string>, code: number, problem: string | RegExp]
  > = [
    ["an unknown option", ["--fast"], 2, "Unknown option '--fast' (--help lists what there is)"],
    [
      "an unknown store",
      ["--store", "redis:x"],
      2,
      '--store redis:x: there is no store "redis", only sqlite:FILE, libsql:file:FILE, libsql:URL or rqlite:URL[,URL...] (--help lists what there is)'
    ],
    ["a log that is not there", ["no.csv"], 2, "no.csv: there is no such file"],
    [
      "a missing column",
      ["--case", "parcel"],
      2,
      /there is no column "parcel", only "case:concept:name", .* say by --case which one it is/
    ],
    [
      "a truncated log",
      ["cut.csv"],
      2,
      "cut.csv: line 3: the file ends inside a quoted field; it is cut off, or a quote in it is never closed"
    ],
    [
      "a node's URL that is none",
      ["--store", "rqlite:http://a:b@127.0.0.1:1/?x"],
      1,
      /urls\[0\]: has more than host, port and base path/
    ],
    ["a libSQL server that is none", ["--store", "libsql:http://u:p@127.0.0.1:1"], 1, /user name or password/],
    ["a directory as the store", ["--store", "sqlite:./examples"], 1, /examples/],
    ["a store in no directory", ["--store", "sqlite:./no/such/dir.db"], 1, /no\/such\/dir\.db/],
    ["another file as the store", ["--store", "sqlite:./package.json"], 1, /package\.json/]
  ]

  for (const [[what, args, code, problem], named] of shareOfTests(refusals, 0, 3)) {
    it(named(`says of ${what} what is wrong, in one sentence`), async () => {
      await writeFile(join(project, "cut.csv"), 'case:concept:name,concept:name,time:timestamp\n1,A,x\n2,"B')
      const before = await readFile(join(project, "package.json"), "utf8")
      const refused = await replay(["--json", ...args])
      expect(refused).toMatchObject({ code, signal: null, stdout: "" })
      expect(refused.stderr).toMatch(/^replay: .+\n$/)
      if (typeof problem === "string") expect(refused.stderr).toBe(`replay: ${problem}\n`)
      else expect(refused.stderr).toMatch(problem)
      expect(await readFile(join(project, "package.json"), "utf8")).toBe(before)
    })
  }
})
