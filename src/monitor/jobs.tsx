import { useEffect } from "preact/hooks"
import { get, Problem, post, query } from "./api.js"
import { attribute } from "./executionQuery.js"
import * as format from "./format.js"
import { isObject } from "./json.js"
import { to } from "./route.js"
import { canWrite, jobs, tell } from "./state.js"
import type { Job } from "./types.js"
import { Empty, Id, Time, visible } from "./ui.js"

const words = { running: "runs", done: "done", stopped: "stopped", failed: "failed" }
const tones = { running: "good", done: "", stopped: "warn", failed: "bad" }

const stop = ({ id }: Job): void => {
  post(`jobs/stop${query({ id })}`, {}).then(
    () => tell("The job is stopped. What it did stays done."),
    (error: unknown) => tell(error instanceof Problem ? error.message : String(error), "bad")
  )
}

/** What a job is for, and where that is listed. */
const Selected = ({ filter, of }: Pick<Job, "filter" | "of">) => {
  const texts = isObject(filter)
    ? Object.entries(filter).flatMap(
        ([name, value]): ReadonlyArray<readonly [string, string | ReadonlyArray<string>]> =>
          name === "attributes" && isObject(value)
            ? [["where", Object.entries(value).map(([name, value]) => attribute(name, value))]]
            : value === undefined || value === null
              ? []
              : [[name, Array.isArray(value) ? value.join(",") : String(value)]]
      )
    : []
  const said = texts.map(([name, text]) =>
    name === "where" ? [text].flat().join(", ") : name === "roots" ? "roots only" : `${name} ${[text].flat().join()}`
  )
  const page = of === "executions" ? "executions" : "dead-letters"
  return <a href={to([page], Object.fromEntries(texts))}>{said.length === 0 ? "all" : visible(said.join(", "))}</a>
}

const JobView = ({ job }: { readonly job: Job }) => {
  const { action, changed, endedAt, errors, failed, filter, id, of, seen, startedAt, state, total, unchanged } = job
  const label = `${action} ${of}`
  return (
    <li class="panel job">
      <header>
        <h2>
          {label} <span class={`word ${tones[state]}`}>{words[state]}</span>
        </h2>
        {state === "running" && canWrite() ? (
          <button type="button" aria-label={`Stop job ${id}`} onClick={() => stop(job)}>
            Stop
          </button>
        ) : null}
      </header>
      <progress
        max={Math.max(total.count, seen, 1)}
        value={state === "done" ? Math.max(total.count, 1) : seen}
        aria-label={label}
      />
      <p>
        <b class="num">{format.whole(seen)}</b> of {total.exact ? "" : "more than "}
        {format.whole(total.count)} seen, {format.whole(changed)} changed, {format.whole(unchanged)} needed no change,{" "}
        {failed === 0 ? "none failed" : <span class="word bad">{format.whole(failed)} failed</span>}
      </p>
      <p class="faint">
        <Selected filter={filter} of={of} />, began <Time at={startedAt} />
        {endedAt === null ? null : `, took ${format.span(endedAt - startedAt)}`}
      </p>
      {errors.length === 0 ? null : (
        <ul class="plain">
          {errors.map((error) => (
            <li key={`${error.id} ${error.message}`}>
              {error.id === "" ? null : of === "executions" ? <Id id={error.id} /> : error.id} {visible(error.message)}
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

export const Jobs = () => {
  useEffect(() => {
    get<ReadonlyArray<Job>>("jobs").then(
      (found) => {
        jobs.value = found
      },
      () => undefined
    )
  }, [])
  return (
    <>
      <header class="title">
        <h1>Jobs</h1>
      </header>
      {jobs.value.length === 0 ? (
        <Empty title="No jobs">
          What is done to many at once runs here, in the background. Begin one at Executions or Dead letters.
        </Empty>
      ) : (
        <ul class="plain">
          {jobs.value.map((job) => (
            <JobView key={job.id} job={job} />
          ))}
        </ul>
      )}
    </>
  )
}
