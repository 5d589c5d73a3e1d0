import { useState } from "preact/hooks"
import { Icon } from "./icons.js"
import { brief, members, pretty } from "./json.js"
import { Copy, visible } from "./ui.js"

/** How many members are shown before more are asked for. */
const most = 100

const Leaf = ({ value }: { readonly value: unknown }) => {
  const kind = value === null ? "null" : typeof value
  return (
    <span class={`leaf ${kind}`}>{typeof value === "string" ? `"${visible(value)}"` : visible(pretty(value))}</span>
  )
}

const Branch = ({ depth, name, value }: { readonly depth: number; readonly name: string; readonly value: unknown }) => {
  const parts = members(value)
  const [open, setOpen] = useState(depth < 2 && parts.length <= 20)
  const [shown, setShown] = useState(most)
  const isBranch = typeof value === "object" && value !== null && parts.length > 0
  const label = name === "" ? null : <span class="key">{visible(name)}</span>
  if (!isBranch) {
    return (
      <li>
        {label}
        {parts.length === 0 && typeof value === "object" && value !== null ? (
          <span class="leaf null">{Array.isArray(value) ? "[]" : "{}"}</span>
        ) : (
          <Leaf value={value} />
        )}
      </li>
    )
  }
  const size = Array.isArray(value) ? `[${parts.length}]` : `{${parts.length}}`
  return (
    <li>
      <button type="button" class="quiet turn fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="chevron" />
        {label}
        <span class="faint">{size}</span>
        {open ? null : <span class="faint brief">{visible(brief(value, 60))}</span>}
      </button>
      {open ? (
        <ul>
          {parts.slice(0, shown).map(([key, part]) => (
            <Branch key={key} name={key} value={part} depth={depth + 1} />
          ))}
          {parts.length > shown ? (
            <li>
              <button type="button" class="quiet" onClick={() => setShown(shown + most)}>
                {parts.length - shown} more
              </button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </li>
  )
}

/** Any JSON as a tree that can be folded. It is shown as text, whatever it is. */
export const Json = ({ value, what }: { readonly value: unknown; readonly what: string }) => {
  const parts = members(value)
  const whole = typeof value === "object" && value !== null
  return (
    <div class="json">
      <Copy text={pretty(value)} what={what} />
      {whole && parts.length === 0 ? (
        <p class="faint">{Array.isArray(value) ? "an empty list" : "nothing in it"}</p>
      ) : whole ? (
        <ul class="tree">
          {parts.slice(0, 1000).map(([key, part]) => (
            <Branch key={key} name={key} value={part} depth={0} />
          ))}
        </ul>
      ) : (
        <Leaf value={value} />
      )}
    </div>
  )
}
