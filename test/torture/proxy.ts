/** What stands between clients and a server: it passes bytes on, or does to them what networks and gateways do. */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Dice } from "../../src/testing/internal/simulation/dice.js"

/**
 * - `Cut`: connections are closed. - `Silent`: nothing is passed on. - `Slow`: each piece comes `millis` later.
 * - `Short`: of an answer a part comes, and then the connection is closed.
 * - `Gateway`: an answer of a gateway's own, whether the request was passed on (`passes`) or not.
 */
export type Mode =
  | { readonly _tag: "Open" | "Cut" | "Silent" | "Short" }
  | { readonly _tag: "Slow"; readonly millis: number }
  | { readonly _tag: "Gateway"; readonly status: string; readonly passes: boolean }

export const open: Mode = { _tag: "Open" }

export interface Proxy {
  readonly port: number
  readonly set: (mode: Mode) => Effect.Effect<void>
}

/** A mode in which a server can be asked in vain. */
export const pick = (dice: Dice): Mode => {
  switch (dice.below(6)) {
    case 0:
      return { _tag: "Cut" }
    case 1:
      return { _tag: "Silent" }
    case 2:
      return { _tag: "Short" }
    case 3:
      return { _tag: "Slow", millis: dice.between(50, 1500) }
    default: {
      const status = dice.pick("502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout")
      return { _tag: "Gateway", status, passes: dice.chance(0.5) }
    }
  }
}

const page = (status: string): string => {
  const body = `<html><body><h1>${status}</h1></body></html>`
  const head = [`HTTP/1.1 ${status}`, "Content-Type: text/html", `Content-Length: ${body.length}`, "Connection: close"]
  return `${head.join("\r\n")}\r\n\r\n${body}`
}

/** A pipe in one direction, in order also where pieces of it wait. */
class Pipe {
  private last: Promise<void> = Promise.resolve()

  constructor(private readonly to: Net.Socket) {}

  pass(data: Buffer, millis: number): void {
    const wait = () => new Promise<void>((resolve) => setTimeout(resolve, millis))
    const write = () => void this.to.write(data)
    this.last = (millis === 0 ? this.last : this.last.then(wait)).then(write)
  }
}

class Connection {
  /** Whether what the server answers is not passed on any more. */
  private answered = false
  private readonly toServer: Pipe
  private readonly toClient: Pipe

  constructor(
    private readonly client: Net.Socket,
    private readonly server: Net.Socket,
    private readonly mode: () => Mode
  ) {
    this.toServer = new Pipe(server)
    this.toClient = new Pipe(client)
    client.on("data", (data) => this.asked(Buffer.from(data)))
    server.on("data", (data) => this.answers(Buffer.from(data)))
    for (const socket of [client, server]) {
      socket.on("error", () => this.close())
      socket.on("close", () => this.close())
    }
  }

  private asked(data: Buffer): void {
    const mode = this.mode()
    if (mode._tag === "Silent") return
    if (mode._tag === "Cut") this.close()
    else if (mode._tag !== "Gateway") this.toServer.pass(data, mode._tag === "Slow" ? mode.millis : 0)
    else {
      if (mode.passes) this.toServer.pass(data, 0)
      this.answered = true
      this.client.end(page(mode.status))
    }
  }

  private answers(data: Buffer): void {
    const mode = this.mode()
    if (this.answered || mode._tag === "Silent") return
    if (mode._tag === "Cut") this.close()
    else if (mode._tag === "Short") this.client.write(data.subarray(0, data.length >> 1), () => this.close())
    else this.toClient.pass(data, mode._tag === "Slow" ? mode.millis : 0)
  }

  close(): void {
    // A server that is still at a request whose answer nobody waits for gets to its end.
    if (this.answered) setTimeout(() => this.server.destroy(), 5000).unref()
    else this.server.destroy()
    this.client.destroy()
  }
}

/** A proxy of a port of this machine, or of another one, for as long as the scope. */
export const make = (target: {
  readonly host: string
  readonly port: number
}): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<{ readonly proxy: Proxy; readonly close: () => void }>((resume) => {
      let mode: Mode = open
      const connections = new Set<Connection>()
      const server = Net.createServer((client) => {
        if (mode._tag === "Cut") return void client.destroy()
        const connection = new Connection(client, Net.connect(target), () => mode)
        connections.add(connection)
        client.once("close", () => connections.delete(connection))
      })
      const set = (next: Mode) =>
        Effect.sync(() => {
          mode = next
          // What has waited for an answer in vain does not get it late.
          if (next._tag === "Cut") for (const connection of connections) connection.close()
        })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          for (const connection of connections) connection.close()
          server.close()
        }
        resume(Effect.succeed({ proxy: { port, set }, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ proxy }) => proxy))
