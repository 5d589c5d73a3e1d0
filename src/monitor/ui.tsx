import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { Problem } from "./api.js"
import * as format from "./format.js"
import { Icon, StatusIcon } from "./icons.js"
import { toExecution } from "./route.js"
import { now, type Resource, tell, trouble } from "./state.js"
import type { Corrupt, Status } from "./types.js"

export const Badge = ({ status }: { readonly status: Status }) => (
  <span class={`badge ${status.toLowerCase()}`}>
    <StatusIcon status={status} />
    {status}
  </span>
)

/** A time as how far away it is; the moment itself is its title. */
export const Time = ({ at }: { readonly at: number | null }) =>
  at === null ? (
    <span class="faint">none</span>
  ) : (
    <time class="num" title={format.moment(at)} dateTime={isoOf(at)}>
      {format.relative(at, now.value)}
    </time>
  )

const isoOf = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? "" : date.toISOString()
}

/** Characters that no eye sees, or that turn the direction of writing, as what they are. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
export const visible = (text: string): string =>
  text.replace(unseen, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`)

export const Id = ({ id }: { readonly id: string }) => (
  <a class="id" href={toExecution(id)} title={visible(id)}>
    {visible(id)}
  </a>
)

export const Mono = ({ text, none = "none" }: { readonly text: string | null; readonly none?: string }) =>
  text === null || text === "" ? <span class="faint">{none}</span> : <span class="mono">{visible(text)}</span>

export const Copy = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <button
    type="button"
    class="quiet small"
    aria-label={`Copy ${what}`}
    title={`Copy ${what}`}
    onClick={() => {
      navigator.clipboard.writeText(text).then(
        () => tell(`The ${what} is copied.`),
        () => tell("The browser does not let this page copy.", "bad")
      )
    }}
  >
    <Icon name="copy" />
  </button>
)

export const Failure = ({
  children,
  problem,
  retry
}: {
  readonly problem: Problem
  readonly children?: ComponentChildren
  readonly retry?: (() => void) | undefined
}) => (
  <div class="notice bad" role="alert">
    <Icon name="warning" />
    <div>
      <strong>{problem.title}</strong>
      <p>{visible(format.sentence(problem.message))}</p>
      {problem.status === 401 || problem.status === 403 ? (
        <p>If your login has ended, log in again: this page then goes on by itself.</p>
      ) : null}
      {children}
    </div>
    {retry === undefined ? null : (
      <button type="button" onClick={retry}>
        Try again
      </button>
    )}
  </div>
)

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <strong>{title}</strong>
    <p>{children}</p>
  </div>
)

export const Loading = () => (
  <div class="loading" role="status">
    <span>Loading</span>
  </div>
)

/** What a resource holds, or why it holds nothing. */
export const Loaded = <A,>({
  children,
  of
}: {
  readonly of: Resource<A>
  readonly children: (data: A) => ComponentChildren
}) => {
  const { data, problem, reload } = of
  // What is in the way of everything is said once, above.
  const isSaid = problem !== undefined && trouble.value?.title === problem.title
  return (
    <>
      {problem === undefined || isSaid ? null : <Failure problem={problem} retry={reload} />}
      {data !== undefined ? children(data) : problem === undefined ? <Loading /> : null}
    </>
  )
}

export const CorruptRows = ({ rows }: { readonly rows: ReadonlyArray<Corrupt> }) =>
  rows.length === 0 ? null : (
    <div class="notice warn" role="note">
      <Icon name="warning" />
      <div>
        <strong>{format.times(rows.length, "stored row")} cannot be read</strong>
        <ul class="plain">
          {rows.slice(0, 5).map(({ key, problem, table }) => (
            <li key={`${table} ${key}`}>
              <span class="mono">
                {table} {visible(key)}
              </span>
              : {visible(problem)}
            </li>
          ))}
        </ul>
        <p>
          Another program, or a damaged file, has left them so. <code>holdfast verify</code> names all of them.
        </p>
      </div>
    </div>
  )

/** A column of a table. `label` is for small screens, where each cell stands by itself. */
export interface Column<A> {
  readonly name: string
  readonly cell: (row: A) => ComponentChildren
  readonly kind?: "num" | "wide" | undefined
}

export const Table = <A,>({
  caption,
  columns,
  keyOf,
  rows,
  detail
}: {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly keyOf: (row: A) => string
  readonly rows: ReadonlyArray<A>
  readonly detail?: ((row: A) => ComponentChildren) | undefined
}) => (
  <table class="rows">
    <caption class="hidden">{caption}</caption>
    <thead>
      <tr>
        {columns.map(({ kind, name }) => (
          <th key={name} scope="col" class={kind ?? ""}>
            {name}
          </th>
        ))}
        {detail === undefined ? null : (
          <th scope="col">
            <span class="hidden">Details</span>
          </th>
        )}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <Row key={keyOf(row)} columns={columns} row={row} detail={detail} name={keyOf(row)} />
      ))}
    </tbody>
  </table>
)

const Row = <A,>({
  columns,
  detail,
  name,
  row
}: {
  readonly columns: ReadonlyArray<Column<A>>
  readonly detail: ((row: A) => ComponentChildren) | undefined
  readonly name: string
  readonly row: A
}) => {
  const [open, setOpen] = useState(false)
  return (
    <>
      <tr tabIndex={-1}>
        {columns.map((column) => (
          <td key={column.name} class={column.kind ?? ""} data-label={column.name}>
            {column.cell(row)}
          </td>
        ))}
        {detail === undefined ? null : (
          <td class="more">
            <button
              type="button"
              class="quiet small turn"
              aria-expanded={open}
              aria-label={`Details of ${visible(name)}`}
              onClick={() => setOpen(!open)}
            >
              <Icon name="chevron" />
            </button>
          </td>
        )}
      </tr>
      {open && detail !== undefined ? (
        <tr class="detail">
          <td colSpan={columns.length + 1}>{detail(row)}</td>
        </tr>
      ) : null}
    </>
  )
}

export const Section = ({
  title,
  count,
  children,
  aside
}: {
  readonly title: string
  readonly count?: number | undefined
  readonly children: ComponentChildren
  readonly aside?: ComponentChildren
}) => (
  <section class="panel" aria-label={title}>
    <header>
      <h2>
        {title}
        {count === undefined ? null : <span class="count">{format.whole(count)}</span>}
      </h2>
      {aside}
    </header>
    {children}
  </section>
)
