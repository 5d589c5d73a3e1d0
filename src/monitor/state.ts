import { signal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import { get, Problem } from "./api.js"
import { parse } from "./json.js"
import type { Job, Live, Sample, Session } from "./types.js"

/** Who looks and at what, as the server says. */
export const session = signal<Session | undefined>(undefined)

/** The last message of the live stream. */
export const live = signal<Live | undefined>(undefined)
export const samples = signal<ReadonlyArray<Sample>>([])
export const jobs = signal<ReadonlyArray<Job>>([])

/** Whether the stream runs, and what is in the way of what it tells. */
export const connection = signal<"live" | "waiting" | "hidden">("waiting")
export const trouble = signal<Problem | undefined>(undefined)

/** Grows where anything may have changed; `changed` names the executions that are known to have. */
export const revision = signal(0)
export const changed = signal<ReadonlySet<string> | undefined>(undefined)

/** The time of the server, which counts down timers. */
export const now = signal(Date.now() / 1000)
let skew = 0

/** What is said for a moment. */
export interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: "good" | "bad"
}
export const notices = signal<ReadonlyArray<Notice>>([])
let lastNotice = 0

export const tell = (text: string, kind: Notice["kind"] = "good"): void => {
  const id = ++lastNotice
  notices.value = [...notices.value, { id, text, kind }]
  setTimeout(() => dismiss(id), kind === "good" ? 5000 : 12000)
}

export const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export const canWrite = (): boolean => session.value?.access === "all"

export const refresh = (): void => {
  changed.value = undefined
  revision.value++
}

const mostSamples = 300

const take = (message: Live): void => {
  skew = message.now - Date.now() / 1000
  now.value = message.now
  live.value = message
  jobs.value = message.jobs
  const last = samples.value.at(-1)?.time ?? 0
  const fresh = message.samples.filter(({ time }) => time > last)
  if (fresh.length > 0) samples.value = [...samples.value, ...fresh].slice(-mostSamples)
  if (message.all || message.changed.length > 0) {
    changed.value = message.all ? undefined : new Set(message.changed)
    revision.value++
  }
}

let source: EventSource | undefined
let later: ReturnType<typeof setTimeout> | undefined
/** Whether the stream was lost since it was known who looks. */
let lost = false

/** How long it takes until a stream is tried again that was refused, in milliseconds. */
const patience = 5000

const open = (): void => {
  clearTimeout(later)
  if (source !== undefined) return
  const stream = new EventSource("api/live")
  source = stream
  stream.addEventListener("open", () => {
    if (lost) look()
  })
  stream.addEventListener("tick", ({ data }) => {
    connection.value = "live"
    trouble.value = undefined
    take(parse<Live>(String(data)))
  })
  stream.addEventListener("problem", ({ data }) => {
    const { detail, title } = parse<{ readonly title: string; readonly detail: string }>(String(data))
    trouble.value = new Problem(title, detail, 503)
  })
  stream.addEventListener("error", () => {
    connection.value = "waiting"
    lost = true
    const isOver = stream.readyState === EventSource.CLOSED
    if (isOver && source === stream) source = undefined
    // A stream does not say why it ends: its server may be gone, or whoever looks may not any more.
    look().then(() => {
      // Where the server answers with something else, the browser does not try again by itself.
      if (isOver && !document.hidden) later = setTimeout(open, patience)
    })
  })
}

const close = (): void => {
  clearTimeout(later)
  source?.close()
  source = undefined
  lost = true
  connection.value = "hidden"
}

/** Asks who looks; where that is refused, why. */
const look = (): Promise<void> =>
  get<Session>("session").then(
    (found) => {
      session.value = found
      lost = false
      trouble.value = undefined
    },
    (error: unknown) => {
      if (error instanceof Problem) trouble.value = error
    }
  )

/** Begins to listen while the page is seen. A page that nobody sees asks for nothing. */
export const begin = async (): Promise<void> => {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close()
    else {
      open()
      refresh()
    }
  })
  setInterval(() => {
    if (!document.hidden) now.value = Date.now() / 1000 + skew
  }, 1000)
  session.value = await get<Session>("session")
  if (!document.hidden) open()
}

/** What a path of the API holds. `data` is what it held before, while it is asked for anew. */
export interface Resource<A> {
  readonly data: A | undefined
  readonly problem: Problem | undefined
  readonly loading: boolean
  readonly reload: () => void
}

/** What nobody was told of is found at least so often, in milliseconds. */
const anew = 10_000

/** Reads a path of the API, and again where what it shows may have changed: all, or one execution. */
export const useResource = <A>(path: string | undefined, only?: string): Resource<A> => {
  const [state, setState] = useState<{
    readonly path: string | undefined
    readonly data?: A
    readonly problem?: Problem
  }>({
    path: undefined
  })
  const [asked, setAsked] = useState(0)
  const seen = revision.value
  const wanted = useRef(0)
  const ids = changed.value
  if (only === undefined || ids === undefined || ids.has(only)) wanted.current = seen
  const version = wanted.current

  useEffect(() => {
    if (path === undefined) return
    const gone = new AbortController()
    get<A>(path, gone.signal).then(
      (data) => setState({ path, data }),
      (error: unknown) => {
        if (error instanceof Problem)
          setState((before) => ({ ...(before.path === path ? before : {}), path, problem: error }))
      }
    )
    return () => gone.abort()
  }, [path, version, asked])

  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setAsked((count) => count + 1)
    }, anew)
    return () => clearInterval(timer)
  }, [])

  const current = state.path === path
  return {
    data: current ? state.data : undefined,
    problem: current ? state.problem : undefined,
    loading: path !== undefined && !current,
    reload: () => setAsked((count) => count + 1)
  }
}
