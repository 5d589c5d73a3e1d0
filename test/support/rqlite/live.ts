/** What a test of a real cluster needs under `TestClock`, where no time passes by itself while a node is away. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import { NodeHttpClient } from "@effect/platform-node"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as TestServices from "effect/TestServices"

// In a finalizer too it ends as soon as nobody waits for it any more.
const pause = (duration: Duration.DurationInput) =>
  Effect.interruptible(TestServices.provideLive(Effect.sleep(duration)))

/** Real time passes between tries, ten seconds at most. */
export const retry = Schedule.tapOutput(Schedule.recurs(100), () => pause("100 millis"))

const late = Object.assign(new Error("no answer came within three seconds"), { code: "ETIMEDOUT", syscall: "read" })

/** A client that waits three real seconds for an answer. */
export const http = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(
    HttpClient.HttpClient,
    HttpClient.transform((answer, request) => {
      const noAnswer = new HttpClientError.RequestError({ request, reason: "Transport", cause: late })
      return Effect.raceFirst(answer, Effect.zipRight(pause("3 seconds"), noAnswer))
    })
  )
).pipe(Layer.provide(NodeHttpClient.layerUndici))
