import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { holdfast, values } from "../support/cli.js"
import { scheduled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

describe("cron", () => {
  it.scoped("lists recurring work, pauses, resumes, triggers and removes it", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_800_000_000_000)
      const filename = yield* temp.database
      yield* scheduled(filename)
      const env = new Map([["HOLDFAST_STORE", `sqlite:${filename}`]])
      const run = (line: string, answer?: boolean) => holdfast(line.split(" "), { env, answer })
      expect(values(yield* run("cron list --json"))).toMatchObject([
        {
          name: "nightly-report",
          expression: "0 2 * * *",
          timeZone: "UTC",
          paused: false,
          last: null,
          next: 1_800_064_800
        }
      ])
      expect((yield* run("cron list")).out.map((line) => line.split(/ {2,}/))).toEqual([
        ["NAME", "SCHEDULE", "ZONE", "LAST", "NEXT", "STATUS"],
        ["nightly-report", "0 2 * * *", "UTC", "-", "2027-01-16T02:00:00.000Z", "RUNNING"]
      ])
      expect(values(yield* run("cron pause nightly-report --json"))).toMatchObject([{ paused: true, next: null }])
      expect((yield* run("cron list")).out[1]).toContain("paused")
      expect(values(yield* run("cron resume nightly-report --json"))).toMatchObject([{ paused: false }])
      const [triggered] = values(yield* run("cron trigger nightly-report --json"))
      expect(triggered).toMatchObject({ name: "nightly-report", id: expect.stringMatching(/^cron:nightly-report:/) })
      expect(values(yield* run("outbox list --json"))).toMatchObject([{ targetId: "cron/nightly-report" }])
      expect(values(yield* run("cron show nightly-report --json"))).toMatchObject([{ catchUp: "once" }])
      for (const verb of ["show", "pause", "resume", "trigger", "remove"]) {
        const { code, notes } = yield* run(`cron ${verb} nightly-reprot`)
        expect([code, ...notes]).toEqual([
          3,
          'holdfast: there is no cron "nightly-reprot"; did you mean "nightly-report"?'
        ])
      }
      expect((yield* run("cron remove nightly-report", false)).code).toBe(4)
      expect((yield* run("cron remove nightly-report", true)).code).toBe(0)
      expect(values(yield* run("cron list --json"))).toEqual([])
    })
  )
})
