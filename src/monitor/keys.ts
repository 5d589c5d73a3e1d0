import { signal } from "@preact/signals"
import { go, to } from "./route.js"
import { toggleTheme } from "./theme.js"

export const helpShown = signal(false)

export const keys: ReadonlyArray<readonly [key: string, what: string]> = [
  ["g o", "Overview"],
  ["g e", "Executions"],
  ["g w", "Work"],
  ["g d", "Dead letters"],
  ["g j", "Jobs"],
  ["/", "Search executions by id"],
  ["j, k", "Next or previous row"],
  ["Enter", "Open the row"],
  ["t", "Dark or light"],
  ["?", "This list"],
  ["Esc", "Close"]
]

const places: { readonly [key: string]: ReadonlyArray<string> } = {
  o: [],
  e: ["executions"],
  w: ["work"],
  d: ["dead-letters"],
  j: ["jobs"]
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))

const move = (by: number): void => {
  const rows = Array.from(document.querySelectorAll<HTMLElement>("table.rows tbody tr[tabindex]"))
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement))
  const row = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : at + by]
  row?.focus()
  row?.scrollIntoView({ block: "nearest" })
}

const search = (): void => {
  go(to(["executions"]))
  setTimeout(() => document.getElementById("search")?.focus(), 50)
}

let waits = false

export const listenToKeys = (): void => {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return
    if (document.querySelector("dialog[open]") !== null) return
    const { key } = event
    if (waits) {
      waits = false
      const place = places[key]
      if (place !== undefined) go(to(place))
      return
    }
    switch (key) {
      case "g":
        waits = true
        setTimeout(() => {
          waits = false
        }, 1500)
        return
      case "/":
        event.preventDefault()
        search()
        return
      case "j":
        move(1)
        return
      case "k":
        move(-1)
        return
      case "t":
        toggleTheme()
        return
      case "?":
        helpShown.value = true
        return
      case "Enter":
        if (event.target instanceof HTMLElement && event.target.tagName === "TR") {
          event.target.querySelector<HTMLElement>("a, button")?.click()
        }
    }
  })
}
