import { render } from "preact"
import { useEffect } from "preact/hooks"
import { Dialog } from "./actions.js"
import { Problem } from "./api.js"
import { DeadLetters } from "./deadLetters.js"
import { ExecutionView } from "./execution.js"
import { Executions } from "./executions.js"
import * as format from "./format.js"
import { Icon } from "./icons.js"
import { Jobs } from "./jobs.js"
import { helpShown, keys, listenToKeys } from "./keys.js"
import { Overview } from "./overview.js"
import { route, to } from "./route.js"
import { begin, connection, dismiss, jobs, live, notices, session, trouble } from "./state.js"
import { theme, toggleTheme } from "./theme.js"
import { Failure, visible } from "./ui.js"
import { Work } from "./work.js"

const states = { live: "Live", waiting: "Connecting", hidden: "Paused" }

const Connection = () => {
  const isTold = trouble.value === undefined || connection.value !== "live"
  return (
    <span
      class={`connection ${isTold ? connection.value : "waiting"}`}
      role="status"
      title="Whether this page is told of changes"
    >
      <span class="dot" aria-hidden="true" />
      {isTold ? states[connection.value] : "No news"}
    </span>
  )
}

const Nav = () => {
  const [first = ""] = route.value.parts
  const letters = live.value?.stats.deadLetters.count ?? 0
  const running = jobs.value.filter(({ state }) => state === "running").length
  const items = [
    { at: "", label: "Overview", count: 0 },
    { at: "executions", label: "Executions", count: 0 },
    { at: "work", label: "Work", count: 0 },
    { at: "dead-letters", label: "Dead letters", count: letters },
    { at: "jobs", label: "Jobs", count: running }
  ]
  return (
    <nav class="main" aria-label="Pages">
      {items.map(({ at, count, label }) => (
        <a key={at} href={to(at === "" ? [] : [at])} aria-current={first === at ? "page" : undefined}>
          {label}
          {count === 0 ? null : <span class="count">{format.compact(count)}</span>}
        </a>
      ))}
    </nav>
  )
}

const Bar = () => (
  <header class="bar">
    <a class="skip" href={location.hash} onClick={() => document.getElementById("content")?.focus()}>
      To the content
    </a>
    <a class="brand" href="#/" aria-label="Holdfast">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" />
        <path d="M10 7v18M22 7v18M10 16h12" />
      </svg>
      <span>Holdfast</span>
    </a>
    <Nav />
    <div class="tools">
      {session.value?.access === "read" ? <span class="word">Read only</span> : null}
      <Connection />
      <button
        type="button"
        class="quiet small"
        aria-label="Keyboard"
        title="Keyboard (?)"
        onClick={() => (helpShown.value = true)}
      >
        <span aria-hidden="true">?</span>
      </button>
      <button
        type="button"
        class="quiet small"
        aria-label={theme.value === "dark" ? "Light colours" : "Dark colours"}
        title="Dark or light (t)"
        onClick={toggleTheme}
      >
        <Icon name={theme.value === "dark" ? "sun" : "moon"} />
      </button>
    </div>
  </header>
)

const Help = () => (
  <Dialog
    title="Keyboard"
    onClose={() => {
      helpShown.value = false
    }}
  >
    <dl class="keys">
      {keys.map(([key, what]) => (
        <div key={key}>
          <dt>
            {key.split(/(?<=,) | (?!,)/).map((part) => (
              <kbd key={part}>{part.replace(",", "")}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)

const Notices = () => (
  <div class="toasts" role="status" aria-live="polite">
    {notices.value.map(({ id, kind, text }) => (
      <div key={id} class={`toast ${kind}`}>
        <span>{visible(text)}</span>
        <button type="button" class="quiet small" aria-label="Dismiss" onClick={() => dismiss(id)}>
          <Icon name="close" />
        </button>
      </div>
    ))}
  </div>
)

const titles: { readonly [name: string]: string } = {
  executions: "Executions",
  work: "Work",
  "dead-letters": "Dead letters",
  jobs: "Jobs"
}

const Content = () => {
  const [name, second] = route.value.parts
  switch (name) {
    case "executions":
      return second === undefined ? <Executions /> : <ExecutionView key={second} id={second} />
    case "work":
      return <Work kind={second} />
    case "dead-letters":
      return <DeadLetters />
    case "jobs":
      return <Jobs />
    default:
      return <Overview />
  }
}

/** What is in the way of news, on every page: what is shown below is as old as it says. */
const Trouble = () => {
  const problem = trouble.value
  if (problem === undefined) return null
  const since = live.value?.now
  return (
    <Failure problem={problem} retry={() => location.reload()}>
      {since === undefined ? null : <p class="faint">What is shown is of {format.moment(since).slice(11)}.</p>}
    </Failure>
  )
}

const App = () => {
  const [name = "", second] = route.value.parts
  const place = [name, second].join("/")
  useEffect(() => {
    document.title = `${second ?? titles[name] ?? "Overview"} \u00b7 Holdfast`
    scrollTo(0, 0)
  }, [name, second])
  return (
    <>
      <Bar />
      <main id="content" tabIndex={-1} data-place={place}>
        <Trouble />
        <Content />
      </main>
      {helpShown.value ? <Help /> : null}
      <Notices />
    </>
  )
}

const root = document.getElementById("app")
if (root !== null) {
  begin().then(
    () => {
      listenToKeys()
      render(<App />, root)
    },
    (error: unknown) => {
      const problem = error instanceof Problem ? error : new Problem("The monitor cannot begin", String(error), 0)
      render(
        <main>
          <Failure problem={problem} retry={() => location.reload()} />
        </main>,
        root
      )
    }
  )
}
