/** Servers, behind proxies that fail: those that run somewhere, and those that are started here and killed. */
import { type ChildProcess, spawn } from "node:child_process"
import * as Net from "node:net"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { StoreName } from "../../src/internal/cli/storeName.js"
import { type Fault, type Missing, millis } from "./faults.js"
import { BadInput, type Target } from "./options.js"
import * as Proxy from "./proxy.js"

/** - `name`, `text`: the store as processes have it, through the proxies. */
export interface Servers {
  readonly name: StoreName
  readonly text: string
  readonly faults: ReadonlyArray<Fault>
  readonly missing: ReadonlyArray<Missing>
  readonly calm: Effect.Effect<void>
}

const local = (port: number): string => `http://127.0.0.1:${port}`

const rqlite = (ports: ReadonlyArray<number>): Pick<Servers, "name" | "text"> => ({
  name: { _tag: "Rqlite", urls: ports.map((port) => Redacted.make(local(port))) },
  text: `rqlite:${ports.map(local).join(",")}`
})

const libsql = (port: number): Pick<Servers, "name" | "text"> => ({
  name: { _tag: "LibsqlServer", url: Redacted.make(local(port)) },
  text: `libsql:${local(port)}`
})

/** A network that fails for a while, to one of the servers. */
const network = (proxies: ReadonlyArray<Proxy.Proxy>): Fault => ({
  name: "failing network",
  run: (dice) => {
    const proxy = proxies[dice.below(proxies.length)]
    if (proxy === undefined) return Effect.succeed(0)
    return proxy
      .set(Proxy.pick(dice))
      .pipe(Effect.zipRight(millis(dice, 100, 3500)), Effect.zipRight(proxy.set(Proxy.open)), Effect.as(1))
  }
})

const opened = (proxies: ReadonlyArray<Proxy.Proxy>) =>
  Effect.forEach(proxies, (proxy) => proxy.set(Proxy.open), { discard: true })

/** A program that is started again when it was killed. */
class Program {
  private child: ChildProcess | undefined

  constructor(
    private readonly path: string,
    private readonly args: ReadonlyArray<string>
  ) {}

  get start(): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.child !== undefined) return
      const child = spawn(this.path, this.args, { stdio: "ignore" })
      this.child = child
      child.once("exit", () => {
        if (this.child === child) this.child = undefined
      })
      child.once("error", () => {
        this.child = undefined
      })
    })
  }

  get kill(): Effect.Effect<void> {
    return Effect.async((resume) => {
      const { child } = this
      if (child === undefined) return resume(Effect.void)
      child.once("exit", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): Effect.Effect<void> {
    return Effect.sync(() => void this.child?.kill(signal))
  }
}

const killed = (programs: ReadonlyArray<Program>): Fault => ({
  name: "kill of a server",
  run: (dice) => {
    const program = programs[dice.below(programs.length)]
    if (program === undefined) return Effect.succeed(0)
    return program.kill.pipe(Effect.zipRight(millis(dice, 0, 2500)), Effect.zipRight(program.start), Effect.as(1))
  }
})

const frozen = (programs: ReadonlyArray<Program>): Fault => ({
  name: "freeze of a server",
  run: (dice) => {
    const program = programs[dice.below(programs.length)]
    if (program === undefined) return Effect.succeed(0)
    return program
      .signal("SIGSTOP")
      .pipe(Effect.zipRight(millis(dice, 500, 4000)), Effect.zipRight(program.signal("SIGCONT")), Effect.as(1))
  }
})

/** Longer than any limit of a store: than it asks for, and than it looks for what became of a write. All of them stand still, or are gone. */
const away = (programs: ReadonlyArray<Program>): Fault => ({
  name: "servers away for long",
  run: (dice) => {
    // It takes longer than a round, and so is rare.
    if (dice.chance(0.6)) return Effect.succeed(0)
    const frozen = dice.chance(0.5)
    const stop = (program: Program) => (frozen ? program.signal("SIGSTOP") : program.kill)
    const go = (program: Program) => (frozen ? program.signal("SIGCONT") : program.start)
    return Effect.forEach(programs, stop, { discard: true }).pipe(
      Effect.zipRight(millis(dice, 35_000, 45_000)),
      Effect.zipRight(Effect.forEach(programs, go, { discard: true })),
      Effect.as(1)
    )
  }
})

const freePort: Effect.Effect<number> = Effect.async((resume) => {
  const server = Net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

const answers = (url: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fetch(url, { signal: AbortSignal.timeout(2000) }).then(
      (response) => response.ok,
      () => false
    )
  )

const untilReady = (what: string, url: string): Effect.Effect<void, BadInput> =>
  answers(url).pipe(
    Effect.delay("200 millis"),
    Effect.repeat({ until: (ready) => ready, times: 300 }),
    Effect.filterOrFail(
      (ready) => ready === true,
      () => new BadInput({ detail: `${what} does not become ready` })
    ),
    Effect.asVoid
  )

const started = (programs: ReadonlyArray<Program>) =>
  Effect.acquireRelease(
    Effect.forEach(programs, (program) => program.start, { discard: true }),
    () => Effect.forEach(programs, (program) => program.kill, { discard: true })
  )

const calmed = (programs: ReadonlyArray<Program>, proxies: ReadonlyArray<Proxy.Proxy>) =>
  opened(proxies).pipe(
    Effect.zipRight(
      Effect.forEach(programs, (program) => Effect.zipRight(program.signal("SIGCONT"), program.start), {
        discard: true
      })
    )
  )

/** Tells sqld to sync each commit, which it forgets whenever it starts. */
const synced = (admin: number): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fetch(`${local(admin)}/v1/namespaces/default/config`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ block_reads: false, block_writes: false, durability_mode: "strong" }),
      signal: AbortSignal.timeout(2000)
    }).then(
      (response) => response.ok,
      () => false
    )
  )

const startSqld = (path: string, directory: string): Effect.Effect<Servers, BadInput, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* freePort
    const admin = yield* freePort
    const proxy = yield* Proxy.make({ host: "127.0.0.1", port })
    const program = new Program(path, [
      ...["--http-listen-addr", `127.0.0.1:${port}`, "--admin-listen-addr", `127.0.0.1:${admin}`],
      ...["-d", join(directory, "sqld")]
    ])
    yield* started([program])
    yield* untilReady("sqld", `${local(port)}/health`)
    if (!(yield* synced(admin))) return yield* new BadInput({ detail: "sqld cannot be told to sync its commits" })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(synced(admin), "500 millis")))
    return {
      ...libsql(proxy.port),
      faults: [network([proxy]), killed([program]), frozen([program]), away([program])],
      missing: [],
      calm: calmed([program], [proxy])
    }
  })

/** One node is not reached by the others: it stays behind, or stands for leader again and again. */
const unreached = (raft: ReadonlyArray<Proxy.Proxy>): Fault => ({ ...network(raft), name: "node cut off from others" })

const startRqlited = (path: string, directory: string): Effect.Effect<Servers, BadInput, Scope.Scope> =>
  Effect.gen(function* () {
    const nodes = yield* Effect.replicateEffect(
      Effect.gen(function* () {
        const http = yield* freePort
        const raft = yield* freePort
        const host = "127.0.0.1"
        return {
          http,
          raft,
          httpProxy: yield* Proxy.make({ host, port: http }),
          raftProxy: yield* Proxy.make({ host, port: raft })
        }
      }),
      3
    )
    const join_ = nodes.map(({ raftProxy }) => `127.0.0.1:${raftProxy.port}`).join(",")
    const programs = nodes.map(
      ({ http, httpProxy, raft, raftProxy }, i) =>
        new Program(path, [
          ...["-node-id", `n${i}`, "-bootstrap-expect", "3", "-join", join_],
          ...["-http-addr", `127.0.0.1:${http}`, "-http-adv-addr", `127.0.0.1:${httpProxy.port}`],
          ...["-raft-addr", `127.0.0.1:${raft}`, "-raft-adv-addr", `127.0.0.1:${raftProxy.port}`],
          join(directory, `rqlite-${i}`)
        ])
    )
    yield* started(programs)
    for (const { http } of nodes) yield* untilReady("rqlited", `${local(http)}/readyz`)
    const https = nodes.map(({ httpProxy }) => httpProxy)
    const rafts = nodes.map(({ raftProxy }) => raftProxy)
    return {
      ...rqlite(https.map(({ port }) => port)),
      faults: [network(https), unreached(rafts), killed(programs), frozen(programs), away(programs)],
      missing: [],
      calm: calmed(programs, [...https, ...rafts])
    }
  })

/** Servers that run: what becomes of them is not ours, but the way to them is. */
const byUrl = (
  name: Extract<StoreName, { readonly _tag: "Rqlite" | "LibsqlServer" }>,
  text: string
): Effect.Effect<Servers, never, Scope.Scope> =>
  Effect.gen(function* () {
    const urls = (name._tag === "Rqlite" ? name.urls : [name.url]).map((url) => Redacted.value(url))
    const parsed = urls.flatMap((url) => (URL.canParse(url) ? [new URL(url)] : []))
    const plain = parsed.every(({ pathname, protocol }) => protocol === "http:" && pathname === "/")
    const why = "the servers were not started here"
    const missing = ["kill of a server", "freeze of a server"].map((fault) => ({ name: fault, why }))
    if (!plain || parsed.length < urls.length) {
      const noProxy = { name: "failing network", why: "no proxy stands before an address that is not http://HOST:PORT" }
      return { name, text, faults: [], missing: [...missing, noProxy], calm: Effect.void }
    }
    const proxies = yield* Effect.forEach(parsed, ({ hostname, port }) =>
      Proxy.make({ host: hostname, port: port === "" ? 80 : Number(port) })
    )
    const ports = proxies.map(({ port }) => port)
    const through = name._tag === "Rqlite" ? rqlite(ports) : libsql(ports[0] ?? 0)
    return { ...through, faults: [network(proxies)], missing, calm: opened(proxies) }
  })

export const start = (target: Target, directory: string): Effect.Effect<Servers, BadInput, Scope.Scope> => {
  if (target._tag !== "Store") {
    return target._tag === "Sqld" ? startSqld(target.program, directory) : startRqlited(target.program, directory)
  }
  const { name, text } = target
  return name._tag === "Rqlite" || name._tag === "LibsqlServer"
    ? byUrl(name, text)
    : Effect.fail(new BadInput({ detail: "a file is no server" }))
}
