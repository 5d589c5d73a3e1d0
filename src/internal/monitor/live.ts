import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberHandle from "effect/FiberHandle"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ExecutionStore, Notice } from "../../ExecutionStore.js"
import * as models from "../monitorApi/models.js"
import { type Problem, Unavailable } from "../monitorApi/problems.js"
import { toText } from "../monitorHttp/reply.js"
import type { Shared } from "../monitorHttp/shared.js"
import type { Overviews } from "./overview.js"

type Message = Schema.Schema.Type<typeof models.Live>
type Sample = Schema.Schema.Type<typeof models.Sample>

/** How many may look at once. */
const mostStreams = 500
/** How many ids a message names. */
const mostIds = 200
/** How many moments the charts begin with. */
const mostSamples = 300

export interface Options {
  readonly store: ExecutionStore
  readonly overviews: Overviews
  readonly shared: Shared
  readonly jobs: Effect.Effect<Message["jobs"]>
  readonly interval: number
}

/** The live stream as texts of server-sent events: one reads the store, all others are told. */
export interface Live {
  readonly stream: Stream.Stream<string, Problem>
}

const eventOf = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`

/** What happened since the tick before. */
interface Since {
  readonly ids: Set<string>
  commits: number
  all: boolean
}

const note = (since: Since, { committed, purged }: Notice): void => {
  const id = Option.match(committed, { onNone: () => purged, onSome: ({ execution }) => execution.id })
  if (Option.isSome(committed)) since.commits++
  if (id !== undefined && since.ids.size < mostIds) since.ids.add(id)
  else since.all = true
}

/** What is told: all but the charts, and those moments of them. */
const message = (
  { jobs, overviews }: Options,
  all: boolean,
  changed: ReadonlyArray<string>,
  samples: ReadonlyArray<Sample>
) =>
  Effect.gen(function* () {
    const overview = yield* overviews.get
    return { ...overview, samples, changed, all, jobs: yield* jobs }
  })

/** The moments that are not too old. */
const recent = (samples: ReadonlyArray<Sample>) =>
  Effect.map(Clock.currentTimeMillis, (now) => samples.filter(({ time }) => time > now / 1000 - mostSamples))

export const make = (options: Options): Effect.Effect<Live, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { interval, overviews, shared, store } = options
    const streams = new Set<Mailbox.Mailbox<string>>()
    const handle = yield* FiberHandle.make()
    let samples: ReadonlyArray<Sample> = []
    let shown = ""

    const tick = (since: Since) =>
      Effect.gen(function* () {
        const { all, commits } = since
        const ids = Array.from(since.ids)
        since.ids.clear()
        since.commits = 0
        since.all = false
        const found = yield* Effect.either(overviews.sample(commits))
        shared.clear()
        if (Either.isLeft(found)) {
          tell(eventOf("problem", JSON.stringify({ title: found.left.title, detail: found.left.detail })))
          return
        }
        const { overview, sample } = found.right
        samples = [...samples, sample].slice(-mostSamples)
        const { counts, stats } = overview
        const now = JSON.stringify({ counts, stats })
        const next = yield* message(options, all || now !== shown, ids, [sample])
        shown = now
        tell(eventOf("tick", yield* toText(models.Live, next)))
      })

    const tell = (text: string): void => {
      for (const stream of streams) stream.unsafeOffer(text)
    }

    const watch = Effect.scoped(
      Effect.gen(function* () {
        const since: Since = { ids: new Set(), commits: 0, all: false }
        yield* store.listen((notice) => note(since, notice))
        yield* store.listenToOthers(() => {
          since.all = true
        })
        shared.keep(true)
        yield* Effect.addFinalizer(() => Effect.sync(() => shared.keep(false)))
        yield* Effect.repeat(Effect.ignore(tick(since)), Schedule.spaced(interval))
      })
    )

    const join = Effect.acquireRelease(
      Effect.gen(function* () {
        if (streams.size >= mostStreams) {
          return yield* new Unavailable({ title: "Too many look", detail: "close some pages, and try again" })
        }
        const mailbox = yield* Mailbox.make<string>({ capacity: 2, strategy: "sliding" })
        streams.add(mailbox)
        yield* FiberHandle.run(handle, watch, { onlyIfMissing: true })
        return mailbox
      }),
      (mailbox) =>
        Effect.suspend(() => {
          streams.delete(mailbox)
          return Effect.zipRight(mailbox.end, streams.size === 0 ? FiberHandle.clear(handle) : Effect.void)
        })
    )

    return {
      stream: Stream.unwrapScoped(
        Effect.gen(function* () {
          const mailbox = yield* join
          const first = yield* message(options, true, [], yield* recent(samples))
          const begin = eventOf("tick", yield* toText(models.Live, first))
          return Stream.fromChunk(Chunk.of(`retry: 2000\n\n${begin}`)).pipe(Stream.concat(Mailbox.toStream(mailbox)))
        })
      )
    }
  })
