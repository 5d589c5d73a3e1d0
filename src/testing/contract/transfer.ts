/**
 * Export and import: every row comes back as it was, in the order in which it was, whatever it holds; an import that was cut off goes on, and
 * nothing is put beside other rows.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Transfer from "../../Transfer.js"
import type { ImportRefused, InvalidExport } from "../../TransferError.js"
import { fill } from "../internal/filled.js"
import { awkwardTexts, emit, order } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

const beyond = 2n ** 53n + 1n

/** The whole text of an export. */
const exported = (pageSize?: number) => Stream.mkString(Transfer.exportText({ pageSize }))

/** The text in pieces that end anywhere. */
const pieces = (text: string, size = 1000): Stream.Stream<string> =>
  Stream.fromIterable(text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [])

/** The text of a store that is emptied by the import of the export of an empty one. */
const emptied = (empty: string) => Transfer.importText(Stream.make(empty), { replace: true })

/** Does nothing on a store whose rows cannot be moved. */
const whereMovable = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { rows } = yield* ExecutionStore
    if (Option.isSome(rows)) return Effect.asVoid(body)
    const [reading, writing] = yield* Effect.all([
      Effect.flip(exported()),
      Effect.flip(Transfer.importText(Stream.make("")))
    ])
    expect([reading._tag, writing._tag]).toEqual(["TransferUnsupported", "TransferUnsupported"])
    return Effect.void
  }).pipe(Effect.flatten)

const isInvalid = (error: unknown): error is InvalidExport =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "InvalidExport"

/**
 * @since 0.1.0
 * @category tests
 */
export const transfer = ({ hasRaw, rawTest, test }: Subject): void => {
  describe("export and import", () => {
    test("what was exported and imported is exported again as the same text", () =>
      whereMovable(
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const empty = yield* exported()
          yield* fill
          const whole = yield* exported()
          expect(yield* exported(1)).toBe(whole)
          for (const pageSize of [1, 2, 1000]) {
            yield* emptied(empty)
            expect(yield* exported()).toBe(empty)
            const imported = yield* Transfer.importText(pieces(whole), { pageSize })
            expect(imported).toMatchObject({ outcome: "imported", before: 0 })
            expect(imported.tables).toMatchObject({ executions: 3, outbox: 3, holdfast_dead_letters: 3, timers: 3 })
            expect(yield* exported()).toBe(whole)
          }
          // The store works on: numbers go on behind those that were given, and filters find what was imported.
          const before = (yield* store.pendingOutbox({ limit: 1000 })).entries.map(({ seq }) => seq)
          const [seq = 0] = yield* store.enqueue([emit("next")])
          expect(seq).toBeGreaterThan(Math.max(...before))
          expect((yield* store.listExecutions({ parentId: "a" })).items.map(({ id }) => id)).toEqual(["b", "c"])
          expect((yield* store.verify({ limit: 1000 })).corrupt).toEqual([])
        })
      ))

    test("numbers that were given once are not given again, also where nothing is left of them", () =>
      whereMovable(
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const [seq = 0] = yield* store.enqueue([emit("1"), emit("2")])
          yield* store.ackOutbox(seq)
          yield* store.ackOutbox(seq + 1)
          const whole = yield* exported()
          yield* store.enqueue([emit("3")])
          yield* Transfer.importText(Stream.make(whole), { replace: true })
          expect(yield* store.enqueue([emit("4")])).toEqual([seq + 2])
        })
      ))

    test("texts come back as they were, whatever is in them", () =>
      whereMovable(
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          for (const [i, text] of awkwardTexts.entries()) {
            yield* store.save(order(`${i} ${text}`, { context: { [text]: text }, activePath: text }))
            yield* store.enqueue([emit(`${i} ${text}`, text)])
          }
          const whole = yield* exported()
          yield* Transfer.importText(pieces(whole, 7), { replace: true })
          expect(yield* exported()).toBe(whole)
          for (const [i, text] of awkwardTexts.entries()) {
            const found = yield* store.load(`${i} ${text}`)
            expect(Option.map(found, ({ context }) => context)).toEqual(Option.some({ [text]: text }))
          }
        })
      ))

    test("an import that was cut off goes on, and one that had ended does nothing", () =>
      whereMovable(
        Effect.gen(function* () {
          const empty = yield* exported()
          yield* fill
          const whole = yield* exported()
          const lines = whole.split("\n")
          for (const cut of [2, 3, 10, lines.length - 3]) {
            yield* emptied(empty)
            const part = Stream.make(`${lines.slice(0, cut).join("\n")}\n`)
            const failed = yield* Effect.flip(
              Transfer.importText(Stream.concat(part, Stream.fail("the cable is out")), { pageSize: 1 })
            )
            expect(failed).toBe("the cable is out")
            const truncated = yield* Effect.flip(Transfer.importText(part, { pageSize: 1 }))
            expect(truncated).toMatchObject({ _tag: "InvalidExport", reason: "truncated", line: cut })
            const resumed = yield* Transfer.importText(Stream.make(whole), { pageSize: 2 })
            expect(resumed).toMatchObject({ outcome: "resumed" })
            expect(resumed.before).toBeGreaterThan(0)
            expect(yield* exported()).toBe(whole)
          }
          const again = yield* Transfer.importText(Stream.make(whole))
          expect(again).toMatchObject({ outcome: "there-already", before: again.rows })
          expect(yield* exported()).toBe(whole)
        })
      ))

    test("nothing is put beside other rows, unless they are to be replaced", () =>
      whereMovable(
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* fill
          const whole = yield* exported()
          const refused = (
            text: Stream.Stream<string>
          ): Effect.Effect<ImportRefused["reason"] | undefined, never, ExecutionStore> =>
            Effect.map(Effect.flip(Transfer.importText(text, { pageSize: 1 })), (error) =>
              typeof error === "object" && error._tag === "ImportRefused" ? error.reason : undefined
            ).pipe(Effect.orElseSucceed(() => undefined))
          expect(yield* refused(Stream.make(whole))).toBe("not-empty")
          yield* store.save(order("z"))
          const other = yield* exported()
          expect(other).not.toBe(whole)
          yield* Transfer.importText(Stream.make(whole), { replace: true })
          expect(yield* exported()).toBe(whole)
          // It holds what another export was of.
          expect(yield* refused(Stream.make(other))).toBe("not-empty")
          const begun = other.split("\n").slice(0, 3).join("\n")
          yield* Effect.flip(Transfer.importText(Stream.make(begun), { replace: true, pageSize: 1 }))
          const third = whole.replace('\\"priority\\":0', '\\"priority\\":1')
          expect(yield* refused(Stream.make(third))).toBe("other-import")
        })
      ))

    test("a text that is no export, or was changed, is refused with the line", () =>
      whereMovable(
        Effect.gen(function* () {
          yield* fill
          const whole = yield* exported()
          const lines = whole.trimEnd().split("\n")
          const without = (line: number) => lines.toSpliced(line, 1).join("\n")
          const wrong: ReadonlyArray<readonly [text: string, line: number, reason: InvalidExport["reason"]]> = [
            ["", 1, "truncated"],
            ["hello", 1, "line"],
            ["{}", 1, "line"],
            [`${lines[1]}\n`, 1, "line"],
            ['{"holdfast":"export","format":99,"schema":1}', 1, "version"],
            ['{"holdfast":"export","format":1,"schema":99999}', 1, "version"],
            [`${lines[0]}\nnot JSON`, 2, "line"],
            [`${lines[0]}\n[]`, 2, "line"],
            [`${lines[0]}\n{"orders":{}}`, 2, "line"],
            [`${lines[0]}\n{"executions":{"id":"a"}}`, 2, "line"],
            [`${lines[0]}\n{"executions":{"id":"a","definition_id":"b","data":"c","version":1.5}}`, 2, "line"],
            [`${lines[0]}\n{"executions":{"id":"a","definition_id":"b","data":"c","version":1,"more":1}}`, 2, "line"],
            [`${lines[0]}\n{"end":"executions","rows":7,"sha256":""}`, 2, "hash"],
            [`${lines[0]}\n${lines[0]}`, 2, "line"],
            [without(1), 4, "hash"],
            [whole.replace("order", "Order"), 5, "hash"],
            [lines.slice(0, -1).join("\n"), lines.length - 1, "truncated"],
            [`${whole}more`, lines.length + 1, "line"]
          ]
          for (const [text, line, reason] of wrong) {
            const error = yield* Effect.flip(Transfer.importText(Stream.make(text), { replace: true }))
            if (!isInvalid(error)) throw error
            expect({ text: text.slice(0, 40), line: error.line, reason: error.reason }).toEqual({
              text: text.slice(0, 40),
              line,
              reason
            })
            expect(error.message).toContain(`line ${line}`)
          }
        })
      ))

    test("options that are none are refused", () =>
      Effect.gen(function* () {
        for (const pageSize of [0, -1, 1.5, Number.NaN, 10_001]) {
          const [reading, writing] = yield* Effect.all([
            Effect.flip(exported(pageSize)),
            Effect.flip(Transfer.importText(Stream.make(""), { pageSize }))
          ])
          expect([reading, writing]).toMatchObject([
            { _tag: "StoreRejected", path: "pageSize" },
            { _tag: "StoreRejected", path: "pageSize" }
          ])
        }
      }))

    if (!hasRaw) return

    rawTest("rows of other programs come back as they were, whatever they hold", (insert) =>
      whereMovable(
        Effect.gen(function* () {
          yield* fill
          const data = '{"id":"x","version":1,"more":[1.0,1e400,12345678901234567890,{"__proto__":-0.0}]}'
          yield* insert("executions", { id: "x", definition_id: "d", data, version: "one" })
          yield* insert("executions", { id: "y", definition_id: "d", data: "{", version: beyond })
          yield* insert("timers", { execution_id: "x", path: "never", fire_at: Number.POSITIVE_INFINITY })
          yield* insert("timers", { execution_id: "x", path: "ever", fire_at: Number.NEGATIVE_INFINITY })
          yield* insert("timers", { execution_id: "x", path: "exact", fire_at: 1790000000.1 + 2 ** -22 })
          yield* insert("timers", { execution_id: "x", path: "wrong", fire_at: "soon" })
          yield* insert("outbox", { seq: beyond, target_id: null, event: "none" })
          yield* insert("outbox", { seq: -3, target_id: "x", event: "{}" })
          const whole = yield* exported()
          expect(whole).toContain(JSON.stringify(data))
          expect(whole).toContain(`{"integer":"${beyond}"}`)
          yield* Transfer.importText(pieces(whole), { replace: true, pageSize: 3 })
          expect(yield* exported(2)).toBe(whole)
        })
      )
    )
  })
}
