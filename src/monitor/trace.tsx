import { useState } from "preact/hooks"
import { query } from "./api.js"
import * as format from "./format.js"
import { Icon } from "./icons.js"
import { brief, type Change, changes, isObject } from "./json.js"
import { Json } from "./jsonTree.js"
import { useResource } from "./state.js"
import type { Trace, TraceStep } from "./types.js"
import { CorruptRows, Empty, Loaded, Mono, Section, visible } from "./ui.js"

const signs = { added: "+", removed: "\u2212", changed: "~" }
const words = { added: "added", removed: "removed", changed: "changed" }

/** How many differences are shown before more are asked for. */
const most = 12

const Difference = ({ change: { after, before, kind, path } }: { readonly change: Change }) => (
  <li class={kind}>
    <span class="sign" role="img" aria-label={words[kind]}>
      {signs[kind]}
    </span>
    <span class="key">{visible(path)}</span> {kind === "added" ? null : <del>{visible(brief(before, 120))}</del>}{" "}
    {kind === "changed" ? <Icon name="right" /> : null}{" "}
    {kind === "removed" ? null : <ins>{visible(brief(after, 120))}</ins>}
  </li>
)

const Differences = ({ found }: { readonly found: ReadonlyArray<Change> }) => {
  const [all, setAll] = useState(false)
  if (found.length === 0) return <p class="faint">The context stayed as it was.</p>
  return (
    <ul class="diff">
      {(all ? found : found.slice(0, most)).map((change) => (
        <Difference key={`${change.kind} ${change.path}`} change={change} />
      ))}
      {found.length > most && !all ? (
        <li>
          <button type="button" class="quiet" onClick={() => setAll(true)}>
            {found.length - most} more
          </button>
        </li>
      ) : null}
    </ul>
  )
}

const isEmpty = (u: unknown): boolean => isObject(u) && Object.keys(u).length === 0

const Step = ({ before, step }: { readonly step: TraceStep; readonly before: TraceStep | undefined }) => {
  const { actions, context, eventData, eventKind, fromPath, index, timestamp, toPath } = step
  const [open, setOpen] = useState(false)
  // What the first step that is kept began with is not known.
  const found =
    before === undefined ? (index === 0 ? changes({}, context) : undefined) : changes(before.context, context)
  const since = before === undefined ? undefined : timestamp - before.timestamp
  return (
    <li class="step">
      <div class="when">
        <time class="num" title={format.moment(timestamp)}>
          {format.moment(timestamp).slice(11)}
        </time>
        <span class="faint num">
          {since === undefined || since < 0 ? format.moment(timestamp).slice(0, 10) : `+${format.span(since)}`}
        </span>
      </div>
      <div class="what">
        <p class="head">
          <b>{visible(eventKind)}</b>
          {fromPath === toPath ? (
            <Mono text={toPath} none="no state" />
          ) : (
            <>
              <Mono text={fromPath} none="no state" /> <Icon name="right" /> <Mono text={toPath} none="no state" />
            </>
          )}
          <span class="faint num">step {index}</span>
        </p>
        {actions.length === 0 ? null : <p class="faint">{actions.map(visible).join(", ")}</p>}
        {isEmpty(eventData) ? null : <p class="mono faint wrap">{visible(brief(eventData, 160))}</p>}
        {found === undefined ? <p class="faint">Earlier steps are not kept.</p> : <Differences found={found} />}
        <button type="button" class="quiet turn" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name="chevron" /> All of step {index}
        </button>
        {open ? (
          <div class="two">
            <div>
              <h3>Event</h3>
              <Json value={eventData} what="event data" />
            </div>
            <div>
              <h3>Context after it</h3>
              <Json value={context} what="context" />
            </div>
          </div>
        ) : null}
      </div>
    </li>
  )
}

/** The steps of an execution, the youngest first, each with what it changed in the context. */
export const Timeline = ({ id }: { readonly id: string }) => {
  const resource = useResource<Trace>(`trace${query({ id })}`, id)
  return (
    <Section title="Trace" count={resource.data?.steps.length}>
      <Loaded of={resource}>
        {({ corrupt, steps }) => (
          <>
            <CorruptRows rows={corrupt} />
            {steps.length === 0 ? (
              <Empty title="No step is kept">
                Steps appear here when the execution takes an event, if its transition writes a trace.
              </Empty>
            ) : (
              <ol class="timeline" reversed>
                {steps.map((step, i) => <Step key={step.index} step={step} before={steps[i - 1]} />).toReversed()}
              </ol>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}
