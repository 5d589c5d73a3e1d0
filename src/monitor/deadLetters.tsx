import { useState } from "preact/hooks"
import { BulkLetters, DiscardDialog, redriveLetter } from "./actions.js"
import { query } from "./api.js"
import { Pager } from "./executions.js"
import { Json } from "./jsonTree.js"
import { change, route, to } from "./route.js"
import { canWrite, useResource } from "./state.js"
import type { DeadLetter, LetterFilter, Page } from "./types.js"
import { type Column, Copy, CorruptRows, Empty, Id, Loaded, Mono, Table, Time, visible } from "./ui.js"

const kinds = ["Outbox", "Timer", "Activity", "Spawn"] as const
const names = { Outbox: "event", Timer: "timer", Activity: "activity", Spawn: "child" }

const reasons: { readonly [reason: string]: string } = {
  attempts: "failed as often as it may",
  corrupt: "its row cannot be read",
  "no-target": "there is no such execution",
  "id-taken": "another execution has its id",
  rejected: "will never succeed"
}

const columns: ReadonlyArray<Column<DeadLetter>> = [
  { name: "Id", kind: "num", cell: ({ id }) => id },
  { name: "Kind", cell: ({ kind }) => names[kind] },
  {
    name: "Execution",
    cell: ({ executionId }) => (executionId === null ? <span class="faint">none</span> : <Id id={executionId} />)
  },
  { name: "Why", cell: ({ reason }) => reasons[reason] ?? reason },
  { name: "Error", kind: "wide", cell: ({ error }) => visible(error) },
  { name: "Attempts", kind: "num", cell: ({ attempts }) => attempts },
  { name: "Given up", cell: ({ diedAt }) => <Time at={diedAt} /> }
]

const Detail = ({ letter }: { readonly letter: DeadLetter }) => (
  <div class="two">
    <div>
      <h3>Error</h3>
      <pre class="wrap">{visible(letter.error)}</pre>
    </div>
    <div>
      <h3>What it was</h3>
      {letter.row === null ? (
        <>
          <Mono text={letter.text} none="Its row cannot be read, and is not shown where anything is masked." />
          {letter.text === null ? null : <Copy text={letter.text} what="row" />}
        </>
      ) : (
        <Json value={letter.row} what="row" />
      )}
    </div>
  </div>
)

/** Dead letters, with what can be done to each. */
export const LetterList = ({ rows }: { readonly rows: ReadonlyArray<DeadLetter> }) => {
  const [discarded, setDiscarded] = useState<number | undefined>(undefined)
  const acting: Column<DeadLetter> = {
    name: "Actions",
    cell: ({ id }) => (
      <span class="actions tight">
        <button type="button" aria-label={`Redrive dead letter ${id}`} onClick={() => redriveLetter(id)}>
          Redrive
        </button>
        <button type="button" class="danger" aria-label={`Discard dead letter ${id}`} onClick={() => setDiscarded(id)}>
          Discard
        </button>
      </span>
    )
  }
  return (
    <>
      <Table
        caption="Dead letters"
        columns={canWrite() ? [...columns, acting] : columns}
        keyOf={({ id }) => String(id)}
        rows={rows}
        detail={(letter) => <Detail letter={letter} />}
      />
      {discarded === undefined ? null : <DiscardDialog id={discarded} onClose={() => setDiscarded(undefined)} />}
    </>
  )
}

export const DeadLetters = () => {
  const { query: params } = route.value
  const kind = kinds.find((each) => each === params.get("kind"))
  const execution = params.get("execution") ?? undefined
  const filter: LetterFilter = { kind, execution }
  const [bulk, setBulk] = useState<"redrive" | "discard" | undefined>(undefined)
  const resource = useResource<Page<DeadLetter>>(
    `dead-letters${query({ kind, execution, cursor: params.get("cursor"), limit: 50 })}`
  )
  const some = (resource.data?.items.length ?? 0) > 0
  return (
    <>
      <header class="title">
        <h1>Dead letters</h1>
        {canWrite() && some ? (
          <div class="actions">
            <button type="button" onClick={() => setBulk("redrive")}>
              Redrive all
            </button>
            <button type="button" class="danger" onClick={() => setBulk("discard")}>
              Discard all
            </button>
          </div>
        ) : null}
      </header>
      <fieldset class="chips">
        <legend class="hidden">Kind</legend>
        {kinds.map((each) => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={each === kind}
            onClick={() => change({ kind: each === kind ? undefined : each, cursor: undefined })}
          >
            {names[each]}
          </button>
        ))}
        {execution === undefined ? null : (
          <button type="button" class="chip" onClick={() => change({ execution: undefined, cursor: undefined })}>
            Of {visible(execution)}: show all
          </button>
        )}
      </fieldset>
      <Loaded of={resource}>
        {({ corrupt, items, next }) => (
          <>
            <CorruptRows rows={corrupt} />
            {items.length === 0 ? (
              kind === undefined && execution === undefined ? (
                <Empty title="No dead letters">
                  Work that failed as often as it may, or never can succeed, comes here.
                </Empty>
              ) : (
                <Empty title="Nothing matches">
                  <a href={to(["dead-letters"])}>Show all dead letters</a>, or change the filters above.
                </Empty>
              )
            ) : (
              <LetterList rows={items} />
            )}
            <Pager count={items.length} next={next} />
          </>
        )}
      </Loaded>
      {bulk === undefined ? null : <BulkLetters action={bulk} filter={filter} onClose={() => setBulk(undefined)} />}
    </>
  )
}
