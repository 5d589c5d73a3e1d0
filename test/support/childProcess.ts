import { spawn as spawnProcess } from "node:child_process"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { program } from "./programs.js"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** Another process, which a test talks to by lines of its standard input and output. */
export interface Child {
  /** The next line that it prints. */
  readonly line: Effect.Effect<string>
  readonly send: (line: string) => Effect.Effect<void>
  /** Its exit code, or the signal that ended it. */
  readonly exit: Effect.Effect<number | string>
  readonly kill: Effect.Effect<void>
  /** Stops it where it is, and lets it go on. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  readonly pid: number | undefined
}

/** Another process that runs a program. */
export const spawn = (
  program: string,
  args: ReadonlyArray<string>,
  env: { readonly [name: string]: string } = {}
): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lines = yield* Queue.unbounded<string>()
    const exit = yield* Deferred.make<number | string>()
    const child = spawnProcess(program, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, ...env }
    })
    readline.createInterface(child.stdout).on("line", (line) => Queue.unsafeOffer(lines, line))
    // A process that has ended reads no more.
    child.stdin.on("error", () => undefined)
    child.once("close", (code, signal) => Deferred.unsafeDone(exit, Effect.succeed(code ?? signal ?? "gone")))
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        Effect.sync(() => child.kill("SIGKILL")),
        Deferred.await(exit)
      )
    )
    return {
      line: Effect.raceFirst(
        Queue.take(lines),
        Effect.flatMap(Deferred.await(exit), (code) => Effect.dieMessage(`the child ended with ${code}`))
      ),
      send: (line) => Effect.sync(() => void child.stdin.write(`${line}\n`)),
      exit: Deferred.await(exit),
      kill: Effect.sync(() => void child.kill("SIGKILL")),
      freeze: Effect.sync(() => void child.kill("SIGSTOP")),
      thaw: Effect.sync(() => void child.kill("SIGCONT")),
      pid: child.pid
    }
  })

/** Another process that holds a lock on a database until it is sent a line. */
export const lockFile = (filename: string, begin: string): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.tap(spawn(process.execPath, [path("lockFile.mjs"), filename, begin]), (child) => child.line)

/** Another process that runs a TypeScript module of this folder. */
export const run = (module: string, ...args: ReadonlyArray<string>): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.promise(() => program(`test/support/${module}`)),
    (program) => spawn(process.execPath, [program, ...args])
  )
