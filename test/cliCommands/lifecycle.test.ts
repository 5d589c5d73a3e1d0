import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { holdfast, type Terminal, values } from "../support/cli.js"
import { filled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

const onStore = Effect.gen(function* () {
  yield* TestClock.setTime(1_800_000_000_000)
  const filename = yield* temp.database
  yield* filled(filename)
  const env = new Map([["HOLDFAST_STORE", `sqlite:${filename}`]])
  const run = (args: string | ReadonlyArray<string>, terminal: Terminal = {}) =>
    holdfast(typeof args === "string" ? args.split(" ") : args, { env, ...terminal })
  const inStore = <A, E>(use: (store: ExecutionStore) => Effect.Effect<A, E>) =>
    Effect.provide(Effect.flatMap(ExecutionStore, use), SqliteStore.layer({ filename }))
  const statuses = inStore((store) =>
    Effect.map(store.listExecutions(), ({ items }) => Object.fromEntries(items.map(({ id, status }) => [id, status])))
  )
  return { run, inStore, statuses }
})

const before = {
  "order-17": "RUNNING",
  "order-18": "DONE",
  "order-19": "FAILED",
  "order-20": "FAILED",
  "parcel-1": "RUNNING"
}

describe("the commands that steer", () => {
  it.scoped("change one execution and what is below it, and keep the reason", () =>
    Effect.gen(function* () {
      const { inStore, run, statuses } = yield* onStore
      const suspended = yield* run(["execution", "suspend", "order-17", "--reason", "the warehouse is closed"])
      expect(suspended).toEqual({ code: 0, out: ["order-17 and 1 below it"], notes: [], asked: [] })
      expect(yield* statuses).toMatchObject({ "order-17": "SUSPENDED", "parcel-1": "SUSPENDED" })
      const trace = yield* inStore((store) => store.readTrace("parcel-1"))
      expect(trace.entries.at(-1)?.eventData).toMatchObject({
        command: "suspend",
        reason: { text: "the warehouse is closed" }
      })
      expect(values(yield* run("execution resume order-17 --json"))).toEqual([
        { id: "order-17", changed: ["parcel-1", "order-17"] }
      ])
      expect(yield* statuses).toEqual(before)
      expect((yield* run("execution cancel order-17 --with-children")).code).toBe(0)
      expect(yield* statuses).toMatchObject({ "order-17": "CANCELLING", "parcel-1": "CANCELLING" })
      expect((yield* run("execution terminate order-17 order-19 --yes")).notes).toEqual(["terminate: 2 executions"])
      expect((yield* run("execution purge order-18")).out).toEqual(["order-18"])
      expect(yield* statuses).toEqual({
        "order-17": "CANCELLED",
        "order-19": "CANCELLED",
        "order-20": "FAILED",
        "parcel-1": "CANCELLED"
      })
    })
  )

  it.scoped("show what a query selects, ask with the count, and then change it", () =>
    Effect.gen(function* () {
      const { run, statuses } = yield* onStore
      const line = "execution redrive --definition order --json"
      const dry = yield* run(`${line} --dry-run`)
      expect(values(dry)).toMatchObject([{ id: "order-19", status: "FAILED" }, { id: "order-20" }])
      expect(dry.notes).toEqual(["redrive would change 2 executions"])
      expect(yield* run(line)).toMatchObject({ code: 2, out: [], asked: ["redrive 2 executions?"] })
      expect(yield* run(line, { answer: false })).toMatchObject({
        code: 4,
        out: [],
        notes: ["holdfast: nothing was changed"]
      })
      expect(yield* statuses).toEqual(before)
      const done = yield* run(line, { answer: true })
      expect(values(done)).toEqual([
        { id: "order-19", changed: ["order-19"] },
        { id: "order-20", changed: ["order-20"] }
      ])
      expect(done.notes).toEqual(["redrive: 2 executions"])
      expect(yield* statuses).toEqual({ ...before, "order-19": "RUNNING", "order-20": "RUNNING" })
      expect((yield* run(`${line} --yes`)).notes).toEqual(["redrive: there is nothing to change"])
    })
  )

  it.scoped("change those with attributes, which are numbers, true or false, texts in quotes, or texts", () =>
    Effect.gen(function* () {
      const { run, statuses } = yield* onStore
      const listed = yield* run("execution list --where customer=c-1 --where failed=true --json")
      expect(values(listed)).toMatchObject([{ id: "order-19" }, { id: "order-20" }])
      expect(values(yield* run("execution list --where code=19 --json"))).toEqual([])
      expect(values(yield* run('execution list --where code="19" --json'))).toMatchObject([{ id: "order-19" }])
      expect(values(yield* run('execution redrive --where code="19" --yes --json'))).toMatchObject([{ id: "order-19" }])
      expect(yield* statuses).toEqual({ ...before, "order-19": "RUNNING" })
      for (const [line, problem] of [
        ["execution list --where customer", "expected name=value"],
        ["execution list --where =c-1", "expected name=value"],
        ["execution list --where a=1 --where a=2", "--where names a twice"],
        ["execution list --where 1st=2", "is not a name"]
      ] as const) {
        const wrong = yield* run(line)
        expect(wrong.code).toBe(2)
        expect(wrong.notes.join()).toContain(problem)
      }
      expect(values(yield* run("execution show order-17 --json"))).toMatchObject([
        { attributes: { customer: "c-1", failed: false, code: "17" } }
      ])
      expect((yield* run("execution show order-17")).out.join("\n")).toContain('"customer":"c-1"')
    })
  )

  it.scoped("leave those out that are changed with their parent", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      expect(values(yield* run("execution suspend --all --yes --json"))).toEqual([
        { id: "order-17", changed: ["order-17", "parcel-1"] }
      ])
      expect(values(yield* run("execution resume --all --yes --json"))).toEqual([
        { id: "order-17", changed: ["parcel-1", "order-17"] }
      ])
    })
  )

  it.scoped("change the others where one that is named cannot be changed", () =>
    Effect.gen(function* () {
      const { run, statuses } = yield* onStore
      expect(yield* run("execution redrive order-18 order-19 --yes")).toMatchObject({
        code: 4,
        out: ["order-19"],
        notes: [
          'cannot redrive execution "order-18": it is DONE, not FAILED',
          "holdfast: redrive: 1 execution, 1 could not be changed"
        ]
      })
      expect(yield* statuses).toEqual({ ...before, "order-19": "RUNNING" })
    })
  )

  it.scoped("send an event, now or later, to an execution that takes it", () =>
    Effect.gen(function* () {
      const { inStore, run } = yield* onStore
      const send = ["execution", "send", "order-17", "Paid"]
      expect(
        values(yield* run([...send, "--data", '{"amount": 12345678901234567890}', "--event-id", "shop:3", "--json"]))
      ).toEqual([{ targetId: "order-17", eventId: "shop:3", seq: 3, dueAt: null }])
      const { entries } = yield* inStore((store) => store.pendingOutbox())
      expect(entries.at(-1)?.event).toMatchObject({
        id: "shop:3",
        kind: "Paid",
        data: { amount: 12345678901234567890n }
      })
      expect(values(yield* run([...send, "--delay", "1 hour", "--event-id", "a", "--json"]))).toMatchObject([
        { seq: null, dueAt: 1_800_003_600 }
      ])
      expect((yield* run([...send, "--dry-run"])).code).toBe(0)
      expect((yield* inStore((store) => store.stats)).outbox.count).toBe(2)
      const wrong = (...args: ReadonlyArray<string>) => Effect.map(run(args), ({ code, notes }) => [code, ...notes])
      expect(yield* wrong("execution", "send", "order-18", "Paid")).toEqual([
        4,
        'holdfast: execution "order-18" is DONE: an event to it would be dropped'
      ])
      expect(yield* wrong(...send, "--data", "{")).toMatchObject([
        2,
        expect.stringMatching(/^holdfast: --data is no JSON/)
      ])
      expect(yield* wrong(...send, "--data", "[]")).toMatchObject([2, expect.stringContaining("no object")])
      expect(yield* wrong(...send, "--delay", "soon")).toMatchObject([2, expect.stringContaining('--delay "soon"')])
      expect(yield* wrong(...send, "--data", '{"amount": [1e400]}')).toEqual([
        2,
        "holdfast: --data cannot be kept: amount[0] is a number that is larger than any double"
      ])
      expect(yield* wrong(...send, "--event-id", "timeout:a")).toEqual([
        2,
        'holdfast: --event-id "timeout:a": ids that begin with "timeout:" are those of the engine itself, give it another beginning'
      ])
      expect(yield* wrong(...send, "--event-id", "")).toMatchObject([2, expect.stringContaining("enqueue was refused")])
    })
  )

  it.scoped("put dead letters back to work, or remove them", () =>
    Effect.gen(function* () {
      const { inStore, run } = yield* onStore
      expect((yield* run("dead-letter redrive --kind timer --yes")).notes).toEqual([
        "redrive: there is nothing to change"
      ])
      expect(values(yield* run("dead-letter redrive --kind outbox --dry-run --json"))).toMatchObject([{ id: 1 }])
      for (const none of ["--reason corrupt", "--definition parcel", "--execution-prefix x"]) {
        expect((yield* run(`dead-letter redrive ${none} --yes`)).notes).toEqual(["redrive: there is nothing to change"])
      }
      const selected = "--definition order --reason attempts,rejected --execution-prefix order-"
      expect(values(yield* run(`dead-letter list ${selected} --json`))).toMatchObject([{ id: 1 }])
      const shown = yield* run(`dead-letter discard ${selected} --dry-run`)
      expect([shown.out.length, shown.notes]).toEqual([2, ["discard would change 1 dead letter"]])
      expect((yield* run("dead-letter redrive --reason bored --yes")).code).toBe(2)
      expect((yield* run("dead-letter redrive --older-than soon --yes")).code).toBe(2)
      // Nobody is there to answer.
      expect((yield* run(`dead-letter redrive ${selected}`)).code).toBe(2)
      expect((yield* run("dead-letter redrive 1")).out).toEqual(["1"])
      const { deadLetters, outbox } = yield* inStore((store) => store.stats)
      expect([deadLetters.count, outbox.count]).toEqual([0, 2])
      yield* inStore((store) =>
        store.deadLetters.bury({ _tag: "Outbox", seq: 2 }, { reason: "rejected", attempts: 1, error: "no" })
      )
      expect((yield* run("dead-letter discard --all --yes")).out).toEqual(["2"])
      expect((yield* run("dead-letter discard 2")).code).toBe(3)
    })
  )

  it.scoped("refuse what is said in two ways, or not at all, and write nothing", () =>
    Effect.gen(function* () {
      const { inStore, run, statuses } = yield* onStore
      yield* inStore((store) =>
        store.save(Execution.make({ id: "order-21", definitionId: "order", status: "SUSPENDED" }))
      )
      const wrong = (line: string) => Effect.map(run(line, { answer: true }), ({ code, notes }) => [code, ...notes])
      expect(yield* wrong("execution terminate")).toEqual([
        2,
        "holdfast: terminate needs to be told which: give ids, filters as those of list, or --all"
      ])
      expect(yield* wrong("execution terminate order-17 --all")).toEqual([
        2,
        "holdfast: terminate takes ids or filters, and not both"
      ])
      expect(yield* wrong("execution suspend --status DONE")).toEqual([
        2,
        "holdfast: suspend is not for executions that are DONE, but for PENDING or RUNNING"
      ])
      expect(yield* wrong("execution terminate order-17 ordr-18")).toEqual([
        3,
        'holdfast: there is no execution "ordr-18"; did you mean "order-18"?'
      ])
      expect(yield* wrong("execution resume order-17")).toMatchObject([
        4,
        expect.stringContaining("it is RUNNING, not SUSPENDED")
      ])
      expect(yield* wrong("execution purge order-20")).toMatchObject([4, expect.stringContaining("it is FAILED")])
      expect(yield* wrong("execution purge parcel-1")).toMatchObject([4, expect.stringContaining("child of")])
      expect(yield* statuses).toEqual({ ...before, "order-21": "SUSPENDED" })
    })
  )
})
