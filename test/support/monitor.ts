import * as Effect from "effect/Effect"
import type * as Monitor from "holdfast/Monitor"

/** An answer of a monitor; `json` is none where the body is no JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Asks a monitor as somebody on this machine does, unless the options say otherwise. */
export const ask = (
  { handler }: Monitor.Monitor,
  path: string,
  { headers, ...init }: Omit<RequestInit, "headers"> & { readonly headers?: Record<string, string> } = {},
  info: Monitor.RequestInfo = { remoteAddress: "127.0.0.1" }
): Effect.Effect<Answer> =>
  Effect.promise(async () => {
    const request = new Request(`http://localhost${path}`, { ...init, headers: { host: "localhost:4600", ...headers } })
    const response = await handler(request, info)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parsed(text) }
  })

/** Asks for a change. */
export const post = (
  monitor: Monitor.Monitor,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  info?: Monitor.RequestInfo
): Effect.Effect<Answer> =>
  ask(
    monitor,
    path,
    { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } },
    info
  )

/** Reads server-sent events, one after the other. */
export const events = ({ body }: Response) => {
  const reader = body?.getReader()
  let text = ""
  const next = async (): Promise<{ readonly name: string; readonly data: unknown }> => {
    for (;;) {
      const [, name, data] = /^(?:retry: \d+\n\n)?event: (.*)\ndata: (.*)\n\n/.exec(text) ?? []
      if (name !== undefined && data !== undefined) {
        text = text.slice(text.indexOf("\n\n", text.indexOf("data: ")) + 2)
        return { name, data: parsed(data) }
      }
      const chunk = await reader?.read()
      if (chunk === undefined || chunk.done) return { name: "end", data: undefined }
      text += new TextDecoder().decode(chunk.value)
    }
  }
  return { next: Effect.promise(next), close: Effect.promise(async () => reader?.cancel()) }
}
