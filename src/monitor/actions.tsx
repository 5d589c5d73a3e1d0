import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { get, Problem, post, query } from "./api.js"
import { EventForm, type Sending } from "./eventForm.js"
import { type Asked, filterOf, queryOf } from "./executionQuery.js"
import * as format from "./format.js"
import { Icon } from "./icons.js"
import { go, to } from "./route.js"
import { refresh, tell } from "./state.js"
import type { Action, Bulk, Job, LetterFilter, Status, Total } from "./types.js"
import { Failure, visible } from "./ui.js"

/** A window above the page, which has the keyboard until it is closed. */
export const Dialog = ({
  children,
  onClose,
  title
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose} onCancel={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet small" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  )
}

type Name = Action["action"]

interface Described {
  readonly name: Name
  readonly label: string
  readonly what: string
  readonly statuses: ReadonlyArray<Status>
  readonly danger: boolean
}

/** What can be done, and to executions in which statuses. */
export const described: ReadonlyArray<Described> = [
  {
    name: "send",
    label: "Send event",
    what: "An event is put into the outbox, durably, and delivered in its turn.",
    statuses: ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING"],
    danger: false
  },
  {
    name: "suspend",
    label: "Suspend",
    what: "It takes no events until it is resumed, and neither does what is below it. Events and timers wait.",
    statuses: ["PENDING", "RUNNING"],
    danger: false
  },
  {
    name: "resume",
    label: "Resume",
    what: "It goes on where it was, and so does what is below it. What waited is delivered.",
    statuses: ["SUSPENDED"],
    danger: false
  },
  {
    name: "redrive",
    label: "Redrive",
    what: "It goes back to work in the state in which it failed, and its error is cleared.",
    statuses: ["FAILED"],
    danger: false
  },
  {
    name: "cancel",
    label: "Cancel",
    what: "It is sent a Cancel event, cleans up and ends.",
    statuses: ["PENDING", "RUNNING", "SUSPENDED", "FAILED"],
    danger: true
  },
  {
    name: "terminate",
    label: "Terminate",
    what: "It ends at once and without clean-up, and so does all below it. That cannot be undone.",
    statuses: ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"],
    danger: true
  },
  {
    name: "purge",
    label: "Purge",
    what: "It is removed with all below it and everything that the store keeps of them. That cannot be undone.",
    statuses: ["DONE", "CANCELLED", "FAILED"],
    danger: true
  }
]

interface Details {
  readonly reason: string
  readonly children: "terminate" | "cancel"
  readonly activePath: string
}

const toAction = (name: Exclude<Name, "send">, { activePath, children, reason }: Details): Action => {
  const why = reason.trim() === "" ? {} : { reason: reason.trim() }
  switch (name) {
    case "cancel":
      return { action: name, children, ...why }
    case "redrive":
      return { action: name, ...(activePath.trim() === "" ? {} : { activePath: activePath.trim() }), ...why }
    case "purge":
      return { action: name, failed: true }
    default:
      return { action: name, ...why }
  }
}

const DetailFields = ({
  details,
  name,
  onChange
}: {
  readonly name: Name
  readonly details: Details
  readonly onChange: (details: Details) => void
}) => (
  <>
    {name === "cancel" ? (
      <label class="field">
        Children
        <select
          value={details.children}
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...details, children: value === "cancel" ? "cancel" : "terminate" })
          }
        >
          <option value="terminate">are ended at once</option>
          <option value="cancel">are cancelled too, and clean up</option>
        </select>
      </label>
    ) : null}
    {name === "redrive" ? (
      <label class="field">
        State to go on in
        <input
          class="mono"
          value={details.activePath}
          placeholder="the one in which it failed"
          onInput={({ currentTarget: { value } }) => onChange({ ...details, activePath: value })}
        />
      </label>
    ) : null}
    {name === "purge" ? null : (
      <label class="field">
        Reason
        <input
          value={details.reason}
          maxLength={500}
          placeholder="kept in the trace"
          onInput={({ currentTarget: { value } }) => onChange({ ...details, reason: value })}
        />
      </label>
    )}
  </>
)

const nothing: Details = { reason: "", children: "terminate", activePath: "" }

/** Asks for an action once, and says how it went. */
const useAsking = (onDone: () => void) => {
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const [busy, setBusy] = useState(false)
  const ask = (asked: Promise<string>): void => {
    setBusy(true)
    setProblem(undefined)
    asked.then(
      (said) => {
        tell(said)
        refresh()
        onDone()
      },
      (error: unknown) => {
        setBusy(false)
        setProblem(error instanceof Problem ? error : new Problem("It did not work", String(error), 0))
      }
    )
  }
  return { problem, busy, ask }
}

const Buttons = ({
  busy,
  danger,
  label,
  onClose,
  disabled = false
}: {
  readonly busy: boolean
  readonly danger: boolean
  readonly label: string
  readonly onClose: () => void
  readonly disabled?: boolean | undefined
}) => (
  <footer>
    <button type="button" onClick={onClose}>
      Back
    </button>
    <button type="submit" class={danger ? "danger" : "primary"} disabled={busy || disabled} aria-busy={busy}>
      {busy ? "Working" : label}
    </button>
  </footer>
)

interface Done {
  readonly changed: ReadonlyArray<string>
}

/** Something that is done to one execution. */
export const ActionDialog = ({
  definitionId,
  id,
  name,
  onClose
}: {
  readonly id: string
  readonly definitionId: string
  readonly name: Name
  readonly onClose: () => void
}) => {
  const about = described.find((each) => each.name === name)
  const [details, setDetails] = useState(nothing)
  const [sending, setSending] = useState<Sending | undefined>(undefined)
  const { ask, busy, problem } = useAsking(onClose)
  if (about === undefined) return null
  const action: Action | undefined =
    name === "send" ? sending && { action: "send", ...sending } : toAction(name, details)
  const submit = (event: Event): void => {
    event.preventDefault()
    if (action === undefined) return
    const done = post<Done>(`execution${query({ id })}`, action)
    ask(
      done.then(({ changed }) => {
        if (name === "send") return "The event is in the outbox."
        if (name === "purge") {
          go(to(["executions"]))
          return `${format.times(changed.length, "execution")} purged.`
        }
        return changed.length === 0
          ? "There was nothing to change."
          : `${about.label}: ${format.times(changed.length, "execution")} changed.`
      })
    )
  }
  return (
    <Dialog title={about.label} onClose={onClose}>
      <form onSubmit={submit}>
        <p class="mono wrap">{visible(id)}</p>
        <p>{about.what}</p>
        {name === "send" ? (
          <EventForm definitionId={definitionId} onChange={setSending} />
        ) : (
          <DetailFields name={name} details={details} onChange={setDetails} />
        )}
        {problem === undefined ? null : <Failure problem={problem} />}
        <Buttons
          busy={busy}
          danger={about.danger}
          label={about.label}
          onClose={onClose}
          disabled={action === undefined}
        />
      </form>
    </Dialog>
  )
}

type Count = Total | Problem | undefined

/** How many a path of the API counts: none where it is being counted. */
const useCount = (path: string): Count => {
  const [found, setFound] = useState<{ readonly path: string; readonly count: Total | Problem } | undefined>(undefined)
  useEffect(() => {
    const gone = new AbortController()
    get<Total>(path, gone.signal).then(
      (count) => setFound({ path, count }),
      (error: unknown) => {
        if (error instanceof Problem) setFound({ path, count: error })
      }
    )
    return () => gone.abort()
  }, [path])
  return found?.path === path ? found.count : undefined
}

/** Nothing is begun of which it is not known how much it is, or that is nothing. */
const isSome = (count: Count): boolean => count !== undefined && !(count instanceof Problem) && count.count > 0

const Counted = ({ count }: { readonly count: Count }) => {
  if (count instanceof Problem) return <Failure problem={count} />
  return (
    <p class="total" role="status">
      {count === undefined
        ? "Counting"
        : count.count === 0
          ? "None is selected now: there is nothing to do."
          : `${count.exact ? "" : "More than "}${format.whole(count.count)} ${count.count === 1 ? "is" : "are"} selected now.`}
    </p>
  )
}

const startJob = (bulk: Bulk): Promise<string> =>
  post<Job>("jobs", bulk).then(() => {
    go(to(["jobs"]))
    return "It has begun, in the background."
  })

/** Something that is done to all executions that a filter selects. */
export const BulkDialog = ({ asked, onClose }: { readonly asked: Asked; readonly onClose: () => void }) => {
  const filter = filterOf(asked)
  const able = described.filter(
    ({ statuses }) => filter.status === undefined || filter.status.some((each) => statuses.includes(each))
  )
  const [name, setName] = useState<Name>(able.find((each) => each.name !== "send")?.name ?? "suspend")
  const [details, setDetails] = useState(nothing)
  const [sending, setSending] = useState<Sending | undefined>(undefined)
  const { ask, busy, problem } = useAsking(onClose)
  const about = described.find((each) => each.name === name)
  const statuses = (filter.status ?? about?.statuses ?? []).filter((each) => about?.statuses.includes(each) === true)
  const counted = queryOf({ ...asked, status: statuses, roots: name === "purge" ? true : filter.roots })
  const count = useCount(`executions/count${query(counted)}`)
  if (about === undefined) return null
  const action: Action | undefined =
    name === "send" ? sending && { action: "send", ...sending } : toAction(name, details)
  return (
    <Dialog title="Act on all that are selected" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (action !== undefined) ask(startJob({ of: "executions", filter, action }))
        }}
      >
        <label class="field">
          Action
          <select
            value={name}
            onChange={({ currentTarget: { value } }) => setName(able.find((each) => each.name === value)?.name ?? name)}
          >
            {able.map((each) => (
              <option key={each.name} value={each.name}>
                {each.label}
              </option>
            ))}
          </select>
        </label>
        <p>{about.what}</p>
        <p class="faint">For executions that are {statuses.join(", ")}.</p>
        {name === "send" ? (
          <EventForm definitionId={filter.definition ?? ""} onChange={setSending} />
        ) : (
          <DetailFields name={name} details={details} onChange={setDetails} />
        )}
        <Counted count={count} />
        {problem === undefined ? null : <Failure problem={problem} />}
        <Buttons
          busy={busy}
          danger={about.danger}
          label={`${about.label} all`}
          onClose={onClose}
          disabled={action === undefined || !isSome(count)}
        />
      </form>
    </Dialog>
  )
}

const letterTexts = {
  redrive: "They go back to work, with no failed attempts.",
  discard: "They are removed for good. That cannot be undone."
}

/** Something that is done to all dead letters that a filter selects. */
export const BulkLetters = ({
  action,
  filter,
  onClose
}: {
  readonly action: "redrive" | "discard"
  readonly filter: LetterFilter
  readonly onClose: () => void
}) => {
  const { ask, busy, problem } = useAsking(onClose)
  const count = useCount(`dead-letters/count${query({ kind: filter.kind, execution: filter.execution })}`)
  const label = action === "redrive" ? "Redrive all" : "Discard all"
  return (
    <Dialog title={`${label} dead letters`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          ask(startJob({ of: "dead letters", filter, action }))
        }}
      >
        <p>{letterTexts[action]}</p>
        <Counted count={count} />
        {problem === undefined ? null : <Failure problem={problem} />}
        <Buttons busy={busy} danger={action === "discard"} label={label} onClose={onClose} disabled={!isSome(count)} />
      </form>
    </Dialog>
  )
}

/** Discarding one dead letter is asked twice. */
export const DiscardDialog = ({ id, onClose }: { readonly id: number; readonly onClose: () => void }) => {
  const { ask, busy, problem } = useAsking(onClose)
  return (
    <Dialog title={`Discard dead letter ${id}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          ask(post(`dead-letter${query({ id })}`, { action: "discard" }).then(() => `Dead letter ${id} is removed.`))
        }}
      >
        <p>It is removed for good. That cannot be undone.</p>
        {problem === undefined ? null : <Failure problem={problem} />}
        <Buttons busy={busy} danger label="Discard" onClose={onClose} />
      </form>
    </Dialog>
  )
}

export const redriveLetter = (id: number): void => {
  post(`dead-letter${query({ id })}`, { action: "redrive" }).then(
    () => {
      tell(`Dead letter ${id} is back at work.`)
      refresh()
    },
    (error: unknown) => tell(error instanceof Problem ? `${error.title}: ${error.message}` : String(error), "bad")
  )
}
