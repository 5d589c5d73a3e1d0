import { useEffect, useState } from "preact/hooks"
import { BulkDialog } from "./actions.js"
import { query } from "./api.js"
import { type Asked, askedOf, queryOf, statuses } from "./executionQuery.js"
import { Icon, StatusIcon } from "./icons.js"
import { change, route, to } from "./route.js"
import { canWrite, live, useResource } from "./state.js"
import type { Page, Status, Summary } from "./types.js"
import { Badge, type Column, CorruptRows, Empty, Id, Loaded, Mono, Table, Time, visible } from "./ui.js"

const columns: ReadonlyArray<Column<Summary>> = [
  { name: "Status", cell: ({ status }) => <Badge status={status} /> },
  { name: "Execution", kind: "wide", cell: ({ id }) => <Id id={id} /> },
  { name: "Definition", cell: ({ definitionId }) => <Mono text={definitionId} /> },
  { name: "State", cell: ({ activePath }) => <Mono text={activePath} /> },
  { name: "Outcome", cell: ({ outcome }) => <Mono text={outcome} /> },
  {
    name: "Parent",
    cell: ({ parentId }) => (parentId === null ? <span class="faint">none</span> : <Id id={parentId} />)
  },
  { name: "Version", kind: "num", cell: ({ version }) => version },
  { name: "Finished", cell: ({ finishedAt }) => <Time at={finishedAt} /> }
]

const needed: ReadonlyArray<string> = ["Status", "Execution"]
const usual: ReadonlyArray<string> = ["Definition", "State", "Outcome", "Version", "Finished"]
const key = "holdfast-columns"

const keptColumns = (): ReadonlyArray<string> => {
  try {
    const text = localStorage.getItem(key)
    return text === null ? usual : text.split(",").filter((name) => columns.some((column) => column.name === name))
  } catch {
    return usual
  }
}

const Columns = ({
  onChange,
  shown
}: {
  readonly shown: ReadonlyArray<string>
  readonly onChange: (shown: ReadonlyArray<string>) => void
}) => (
  <details class="menu">
    <summary>Columns</summary>
    <div class="sheet">
      {columns
        .filter(({ name }) => !needed.includes(name))
        .map(({ name }) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={() => onChange(shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name])}
            />
            {name}
          </label>
        ))}
    </div>
  </details>
)

const isAttribute = (text: string): boolean => /^[^=\s]+=./s.test(text)
const nameOf = (text: string): string => text.slice(0, text.indexOf("="))

/** The attributes by which executions are found: each is a chip that takes it away again. */
const Attributes = ({ where }: { readonly where: ReadonlyArray<string> }) => {
  const [text, setText] = useState("")
  const [wrong, setWrong] = useState(false)
  const add = (event: Event): void => {
    event.preventDefault()
    const added = text.trim()
    if (added === "") return
    setWrong(!isAttribute(added))
    if (!isAttribute(added)) return
    change({ where: [...where.filter((each) => nameOf(each) !== nameOf(added)), added], cursor: undefined })
    setText("")
  }
  return (
    <>
      <form class="adding" onSubmit={add}>
        <label>
          <span class="hidden">Attribute, as name=value</span>
          <input
            class="mono"
            placeholder="Attribute: name=value"
            title={'A number, true or false, or a text; a text in quotes where it looks like a number: code="19"'}
            value={text}
            aria-invalid={wrong}
            aria-describedby={wrong ? "attribute-wrong" : undefined}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value)
              setWrong(false)
            }}
          />
        </label>
        <button type="submit" disabled={text.trim() === ""}>
          Add
        </button>
      </form>
      {wrong ? (
        <span id="attribute-wrong" class="word bad" role="alert">
          Write it as name=value
        </span>
      ) : null}
      {where.map((each) => (
        <button
          key={each}
          type="button"
          class="chip mono"
          aria-label={`Without ${visible(each)}`}
          onClick={() => change({ where: where.filter((other) => other !== each), cursor: undefined })}
        >
          {visible(each)}
          <Icon name="close" />
        </button>
      ))}
    </>
  )
}

const Filters = ({ filter }: { readonly filter: Asked }) => {
  const names = Array.from(new Set((live.value?.counts ?? []).map(({ definitionId }) => definitionId)))
  const known =
    filter.definition === undefined || names.includes(filter.definition) ? names : [filter.definition, ...names]
  const [prefix, setPrefix] = useState(filter.prefix ?? "")
  const given = filter.prefix ?? ""
  useEffect(() => setPrefix(given), [given])
  useEffect(() => {
    if (prefix === given) return
    const timer = setTimeout(() => change({ prefix, cursor: undefined }), 300)
    return () => clearTimeout(timer)
  }, [prefix, given])
  const toggle = (status: Status): void => {
    const before = filter.status ?? []
    const after = before.includes(status) ? before.filter((each) => each !== status) : [...before, status]
    change({ status: after.join(","), cursor: undefined })
  }
  return (
    <div class="filters">
      <label>
        <span class="hidden">Id begins with</span>
        <input
          id="search"
          type="search"
          class="mono"
          placeholder="Id begins with"
          value={prefix}
          onInput={({ currentTarget }) => setPrefix(currentTarget.value)}
        />
      </label>
      <label>
        <span class="hidden">Definition</span>
        <select
          value={filter.definition ?? ""}
          onChange={({ currentTarget }) => change({ definition: currentTarget.value, cursor: undefined })}
        >
          <option value="">All definitions</option>
          {known.map((name) => (
            <option key={name} value={name}>
              {visible(name)}
            </option>
          ))}
        </select>
      </label>
      <fieldset class="chips">
        <legend class="hidden">Status</legend>
        {statuses.map((status) => (
          <button
            key={status}
            type="button"
            class={`chip ${status.toLowerCase()}`}
            aria-pressed={filter.status?.includes(status) === true}
            onClick={() => toggle(status)}
          >
            <StatusIcon status={status} />
            {status}
          </button>
        ))}
      </fieldset>
      <label class="check">
        <input
          type="checkbox"
          checked={filter.roots === true}
          onChange={({ currentTarget }) => change({ roots: currentTarget.checked, cursor: undefined })}
        />
        Roots only
      </label>
      <Attributes where={filter.where ?? []} />
      {filter.parent === undefined ? null : (
        <button type="button" class="chip" onClick={() => change({ parent: undefined, cursor: undefined })}>
          Children of {visible(filter.parent)}: show all
        </button>
      )}
    </div>
  )
}

const isFiltered = (filter: Asked): boolean => Object.values(filter).some((value) => value !== undefined)

export const Pager = ({ count, next }: { readonly count: number; readonly next: string | null }) => {
  const cursor = route.value.query.get("cursor")
  return cursor === null && next === null ? (
    <p class="pager faint">{count === 0 ? null : "That is all."}</p>
  ) : (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" disabled={cursor === null} onClick={() => change({ cursor: undefined })}>
        First page
      </button>
      <button type="button" disabled={cursor === null} onClick={() => history.back()}>
        Back
      </button>
      <button type="button" disabled={next === null} onClick={() => change({ cursor: next })}>
        Next page
      </button>
    </nav>
  )
}

export const Executions = () => {
  const { query: params } = route.value
  const filter = askedOf(params)
  const [shown, setShown] = useState(keptColumns)
  const [bulk, setBulk] = useState(false)
  const path = `executions${query({
    ...queryOf(filter),
    cursor: params.get("cursor"),
    limit: 50
  })}`
  const resource = useResource<Page<Summary>>(path)
  const nothing = resource.data?.items.length === 0 && params.get("cursor") === null
  const show = (names: ReadonlyArray<string>): void => {
    setShown(names)
    try {
      localStorage.setItem(key, names.join(","))
    } catch {
      // A browser that keeps nothing forgets it with the page.
    }
  }
  return (
    <>
      <header class="title">
        <h1>Executions</h1>
        <div class="actions">
          <Columns shown={shown} onChange={show} />
          {canWrite() ? (
            <button
              type="button"
              disabled={nothing}
              title={nothing ? "Nothing is selected" : undefined}
              onClick={() => setBulk(true)}
            >
              Act on all
            </button>
          ) : null}
        </div>
      </header>
      <Filters filter={filter} />
      <Loaded of={resource}>
        {({ corrupt, items, next }) => (
          <>
            <CorruptRows rows={corrupt} />
            {items.length === 0 ? (
              isFiltered(filter) ? (
                <Empty title="Nothing matches">
                  <a href={to(["executions"])}>Show all executions</a>, or change the filters above.
                </Empty>
              ) : (
                <Empty title="No execution yet">
                  Start one in your application, or send it its first event: it is here a moment later.
                </Empty>
              )
            ) : (
              <Table
                caption="Executions"
                columns={columns.filter(({ name }) => needed.includes(name) || shown.includes(name))}
                keyOf={({ id }) => id}
                rows={items}
              />
            )}
            <Pager count={items.length} next={next} />
          </>
        )}
      </Loaded>
      {bulk ? <BulkDialog asked={filter} onClose={() => setBulk(false)} /> : null}
    </>
  )
}
