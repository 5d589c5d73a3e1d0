import { useState } from "preact/hooks"
import { ActionDialog, described } from "./actions.js"
import { query } from "./api.js"
import { LetterList } from "./deadLetters.js"
import { attribute } from "./executionQuery.js"
import * as format from "./format.js"
import { Icon } from "./icons.js"
import { Json } from "./jsonTree.js"
import { to } from "./route.js"
import { canWrite, now, useResource } from "./state.js"
import { Timeline } from "./trace.js"
import type { Action, Execution, ExecutionPage, OutboxRow, Page, Summary } from "./types.js"
import { Badge, type Column, Copy, CorruptRows, Id, Loaded, Mono, Section, Table, Time, visible } from "./ui.js"
import { activityColumns, outboxColumns, spawnColumns, timerColumns } from "./work.js"

const isOver = ({ status }: Pick<Execution, "status">): boolean => ["DONE", "CANCELLED", "FAILED"].includes(status)

const Fact = ({ children, name }: { readonly name: string; readonly children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const Facts = ({ attributes, execution }: Pick<ExecutionPage, "attributes" | "execution">) => {
  const { activePath, createdAt, definitionId, finishedAt, outcome, processedEvents, rootPath, updatedAt, version } =
    execution
  return (
    <dl class="facts">
      <Fact name="Definition">
        <a href={to(["executions"], { definition: definitionId })}>{visible(definitionId)}</a>
      </Fact>
      <Fact name="State">
        <Mono text={activePath} />
      </Fact>
      {outcome === null ? null : (
        <Fact name="Outcome">
          <Mono text={outcome} />
        </Fact>
      )}
      <Fact name="Created">
        <Time at={createdAt} />
      </Fact>
      <Fact name="Updated">
        <Time at={updatedAt} />
      </Fact>
      {isOver(execution) ? (
        <Fact name="Finished">
          <Time at={finishedAt} />
          {createdAt === null || finishedAt === null ? null : (
            <span class="faint"> after {format.span(finishedAt - createdAt)}</span>
          )}
        </Fact>
      ) : null}
      <Fact name="Version">
        <span class="num">{version}</span>
      </Fact>
      <Fact name="Events taken">
        <span class="num">{processedEvents}</span>
      </Fact>
      {rootPath === "" ? null : (
        <Fact name="Root path">
          <Mono text={rootPath} />
        </Fact>
      )}
      {Object.keys(attributes).length === 0 ? null : (
        <Fact name="Found by">
          {Object.entries(attributes).map(([name, value]) => (
            <a key={name} class="attribute mono" href={to(["executions"], { where: attribute(name, value) })}>
              {visible(attribute(name, value))}
            </a>
          ))}
        </Fact>
      )}
    </dl>
  )
}

/** A child with what is below it, which is read when it is opened. */
const Child = ({ child }: { readonly child: Summary }) => {
  const [open, setOpen] = useState(false)
  const below = useResource<Page<Summary>>(open ? `executions${query({ parent: child.id, limit: 100 })}` : undefined)
  return (
    <li>
      <div class="node">
        <button
          type="button"
          class="quiet small turn"
          aria-expanded={open}
          aria-label={`Children of ${visible(child.id)}`}
          onClick={() => setOpen(!open)}
        >
          <Icon name="chevron" />
        </button>
        <Badge status={child.status} />
        <Id id={child.id} />
        <span class="faint mono">{visible(child.definitionId)}</span>
        {child.activePath === null ? null : <span class="faint mono">{visible(child.activePath)}</span>}
      </div>
      {open ? (
        <Loaded of={below}>
          {({ items, next }) =>
            items.length === 0 ? (
              <p class="faint inset">No children.</p>
            ) : (
              <Children items={items} next={next} parent={child.id} />
            )
          }
        </Loaded>
      ) : null}
    </li>
  )
}

const Children = ({
  items,
  next,
  parent
}: {
  readonly items: ReadonlyArray<Summary>
  readonly next: string | null
  readonly parent: string
}) => (
  <ul class="nodes">
    {items.map((child) => (
      <Child key={child.id} child={child} />
    ))}
    {next === null ? null : (
      <li>
        <a href={to(["executions"], { parent })}>All children</a>
      </li>
    )}
  </ul>
)

const Family = ({ page: { ancestors, children, execution } }: { readonly page: ExecutionPage }) => (
  <Section title="Tree" count={children.items.length}>
    <ul class="nodes">
      {ancestors.toReversed().map((above) => (
        <li key={above.id}>
          <div class="node">
            <Badge status={above.status} />
            <Id id={above.id} />
            <span class="faint mono">{visible(above.definitionId)}</span>
          </div>
        </li>
      ))}
      <li>
        <div class="node here">
          <Badge status={execution.status} />
          <span class="id">{visible(execution.id)}</span>
          <span class="faint">this one</span>
        </div>
        {children.items.length === 0 ? (
          <p class="faint inset">No children.</p>
        ) : (
          <Children items={children.items} next={children.next} parent={execution.id} />
        )}
      </li>
    </ul>
  </Section>
)

const Actions = ({
  execution,
  onChoose
}: {
  readonly execution: Execution
  readonly onChoose: (name: Action["action"]) => void
}) => (
  <div class="actions">
    {described
      .filter(({ statuses }) => statuses.includes(execution.status))
      .map(({ danger, label, name }) => (
        <button key={name} type="button" class={danger ? "danger" : ""} onClick={() => onChoose(name)}>
          {label}
        </button>
      ))}
  </div>
)

/** A part of the page, where there is anything in it. */
const Listed = <A,>({
  title,
  ...table
}: { readonly title: string } & Omit<Parameters<typeof Table<A>>[0], "caption">) =>
  table.rows.length === 0 ? null : (
    <Section title={title} count={table.rows.length}>
      <Table caption={title} {...table} />
    </Section>
  )

const dataOf = ({ event }: { readonly event: OutboxRow["event"] }) => <Json value={event.data} what="event data" />

const delayedColumns: ReadonlyArray<Column<ExecutionPage["delayed"][number]>> = [
  { name: "Due", cell: ({ dueAt }) => <Time at={dueAt} /> },
  { name: "Kind", cell: ({ event }) => <Mono text={event.kind} /> },
  { name: "Event", kind: "wide", cell: ({ event }) => <Mono text={event.id} /> }
]

const heldColumns: ReadonlyArray<Column<Execution["deferred"][number]>> = [
  { name: "Kind", cell: ({ kind }) => <Mono text={kind} /> },
  { name: "Event", kind: "wide", cell: ({ id }) => <Mono text={id} /> }
]

const Waiting = ({ page }: { readonly page: ExecutionPage }) => {
  const { activities, delayed, events, execution, spawns, timers } = page
  return (
    <>
      <Listed title="Timers" columns={timerColumns(false)} keyOf={({ path }) => path} rows={timers} />
      <Listed
        title="Events to it"
        columns={outboxColumns(false)}
        keyOf={({ seq }) => String(seq)}
        rows={events}
        detail={dataOf}
      />
      <Listed
        title="Delayed events"
        columns={delayedColumns}
        keyOf={({ event }) => event.id}
        rows={delayed}
        detail={dataOf}
      />
      <Listed
        title="Activities"
        columns={activityColumns(false)}
        keyOf={({ key }) => key}
        rows={activities}
        detail={({ payload }) => <Json value={payload} what="payload" />}
      />
      <Listed
        title="Children to create"
        columns={spawnColumns(false)}
        keyOf={({ seq }) => String(seq)}
        rows={spawns}
        detail={({ context }) => <Json value={context} what="context" />}
      />
      <Listed
        title="Held back until its state changes"
        columns={heldColumns}
        keyOf={({ id }) => id}
        rows={execution.deferred}
        detail={(event) => dataOf({ event })}
      />
    </>
  )
}

const nextOf = ({ activities, events, execution, timers }: ExecutionPage): string => {
  if (isOver(execution)) return ""
  const [timer] = timers
  const parts = [
    events.length > 0 ? format.times(events.length, "event") : "",
    activities.length > 0 ? format.times(activities.length, "activity", "activities") : "",
    timer === undefined ? "" : `timer ${visible(timer.path)} ${format.relative(timer.fireAt, now.value)}`
  ].filter((part) => part !== "")
  return parts.length === 0 ? "waits for an event" : `waits for ${parts.join(", ")}`
}

const Shown = ({ page }: { readonly page: ExecutionPage }) => {
  const [chosen, setChosen] = useState<Action["action"] | undefined>(undefined)
  const { execution } = page
  const { context, definitionId, error, id, result, status } = execution
  return (
    <>
      <header class="title">
        <div class="grow">
          <h1 class="mono wrap">
            {visible(id)} <Copy text={id} what="id" />
          </h1>
          <p class="sub">
            <Badge status={status} /> <span class="faint">{nextOf(page)}</span>
          </p>
        </div>
        {canWrite() ? <Actions execution={execution} onChoose={setChosen} /> : null}
      </header>
      {error === null ? null : (
        <div class="notice bad">
          <Icon name="warning" />
          <div>
            <strong>It failed</strong>
            <p class="mono wrap">{visible(error)}</p>
          </div>
        </div>
      )}
      <CorruptRows rows={page.corrupt} />
      <Facts attributes={page.attributes} execution={execution} />
      {page.deadLetters.length === 0 ? null : (
        <Section title="Dead letters" count={page.deadLetters.length}>
          <LetterList rows={page.deadLetters} />
        </Section>
      )}
      <div class="halves">
        <div>
          <Section title="Context">
            <Json value={context} what="context" />
          </Section>
          {result === null ? null : (
            <Section title="Result">
              <Json value={result} what="result" />
            </Section>
          )}
          <Family page={page} />
          <Waiting page={page} />
        </div>
        <Timeline id={id} />
      </div>
      {chosen === undefined ? null : (
        <ActionDialog id={id} definitionId={definitionId} name={chosen} onClose={() => setChosen(undefined)} />
      )}
    </>
  )
}

export const ExecutionView = ({ id }: { readonly id: string }) => {
  const resource = useResource<ExecutionPage>(`execution${query({ id })}`, id)
  return (
    <>
      <nav class="crumbs" aria-label="Above">
        <a href={to(["executions"])}>Executions</a>
        {resource.data?.ancestors.toReversed().map((above) => (
          <span key={above.id}>
            <Icon name="chevron" /> <Id id={above.id} />
          </span>
        ))}
      </nav>
      {resource.problem?.status === 404 && resource.data === undefined ? (
        <h1 class="mono wrap">{visible(id)}</h1>
      ) : null}
      <Loaded of={resource}>{(page) => <Shown key={page.execution.id} page={page} />}</Loaded>
    </>
  )
}
