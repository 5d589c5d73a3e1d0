import { useEffect, useMemo, useState } from "preact/hooks"
import { isObject, members } from "./json.js"
import { session } from "./state.js"

export interface Sending {
  readonly kind: string
  readonly data: { readonly [key: string]: unknown }
  readonly eventId?: string | undefined
  readonly delay?: number | undefined
}

interface Field {
  readonly name: string
  readonly required: boolean
  readonly type: "text" | "number" | "boolean" | "choice" | "json"
  readonly choices: ReadonlyArray<string>
  readonly about: string | undefined
}

const resolve = (schema: unknown, whole: unknown): unknown => {
  const ref = isObject(schema) ? schema["$ref"] : undefined
  if (typeof ref !== "string" || !ref.startsWith("#/$defs/")) return schema
  const definitions = isObject(whole) ? whole["$defs"] : undefined
  return isObject(definitions) ? resolve(definitions[decodeURIComponent(ref.slice(8))], whole) : schema
}

const isText = (u: unknown): u is string => typeof u === "string"

const typeOf = (schema: unknown): Pick<Field, "type" | "choices"> => {
  if (!isObject(schema)) return { type: "json", choices: [] }
  const choices = schema["enum"]
  if (Array.isArray(choices) && choices.every(isText)) return { type: "choice", choices }
  switch (schema["type"]) {
    case "string":
      return { type: "text", choices: [] }
    case "number":
    case "integer":
      return { type: "number", choices: [] }
    case "boolean":
      return { type: "boolean", choices: [] }
    default:
      return { type: "json", choices: [] }
  }
}

/** The fields of a schema that is a plain object; none where it is something else. */
const fieldsOf = (whole: unknown): ReadonlyArray<Field> | undefined => {
  const schema = resolve(whole, whole)
  if (!isObject(schema) || schema["type"] !== "object" || !isObject(schema["properties"])) return undefined
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return members(schema["properties"]).map(([name, part]) => {
    const own = resolve(part, whole)
    const about = isObject(own) ? own["description"] : undefined
    return { name, required: required.includes(name), about: isText(about) ? about : undefined, ...typeOf(own) }
  })
}

type Texts = { readonly [name: string]: string }

const wrong = Symbol("wrong")

const valueOf = ({ required, type }: Field, text: string): unknown => {
  if (text === "" && (!required || type !== "text")) return required ? wrong : undefined
  switch (type) {
    case "number":
      return Number.isFinite(Number(text)) ? Number(text) : wrong
    case "boolean":
      return text === "true"
    case "json":
      return parsed(text)
    default:
      return text
  }
}

const parsed = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return wrong
  }
}

const Input = ({
  field,
  onChange,
  text
}: {
  readonly field: Field
  readonly text: string
  readonly onChange: (text: string) => void
}) => {
  const { choices, name, required, type } = field
  if (type === "choice" || type === "boolean") {
    return (
      <select value={text} required={required} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{required ? "choose" : "leave out"}</option>
        {(type === "boolean" ? ["true", "false"] : choices).map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    )
  }
  if (type === "json") {
    return (
      <textarea
        class="mono"
        rows={3}
        value={text}
        required={required}
        placeholder="JSON"
        spellcheck={false}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  }
  const given = {
    name,
    value: text,
    required,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onChange(currentTarget.value)
  }
  return type === "number" ? <input type="number" step="any" {...given} /> : <input {...given} />
}

/** What an event carries, by the fields of its schema. */
const Fields = ({
  fields,
  onChange
}: {
  readonly fields: ReadonlyArray<Field>
  readonly onChange: (data: Sending["data"] | undefined) => void
}) => {
  const [texts, setTexts] = useState<Texts>({})
  useEffect(() => {
    const values = fields.map((field) => [field.name, valueOf(field, texts[field.name] ?? "")] as const)
    const isWrong = values.some(([, value]) => value === wrong)
    onChange(isWrong ? undefined : Object.fromEntries(values.filter(([, value]) => value !== undefined)))
  }, [fields, texts])
  return (
    <>
      {fields.map((field) => (
        // biome-ignore lint/a11y/noLabelWithoutControl: the control is in Input
        <label key={field.name} class="field">
          <span>
            {field.name} {field.required ? null : <span class="faint">(optional)</span>}
          </span>
          <Input
            field={field}
            text={texts[field.name] ?? ""}
            onChange={(text) => setTexts({ ...texts, [field.name]: text })}
          />
          {field.about === undefined ? null : <span class="faint">{field.about}</span>}
        </label>
      ))}
    </>
  )
}

const FreeData = ({ onChange }: { readonly onChange: (data: Sending["data"] | undefined) => void }) => {
  const [text, setText] = useState("{}")
  const value = parsed(text)
  const isWrong = !isObject(value)
  useEffect(() => {
    onChange(isObject(value) ? value : undefined)
  }, [text])
  return (
    <label class="field">
      Data
      <textarea
        class="mono"
        rows={5}
        value={text}
        spellcheck={false}
        aria-invalid={isWrong}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      {isWrong ? <span class="hint bad">This is no JSON object yet.</span> : null}
    </label>
  )
}

/** An event to send: from the schemas of the definition where they are known, else as JSON. */
export const EventForm = ({
  definitionId,
  onChange
}: {
  readonly definitionId: string
  readonly onChange: (sending: Sending | undefined) => void
}) => {
  const events = session.value?.definitions.find(({ name }) => name === definitionId)?.events ?? {}
  const kinds = Object.keys(events)
  const [kind, setKind] = useState(kinds[0] ?? "")
  const [data, setData] = useState<Sending["data"] | undefined>(undefined)
  const [eventId, setEventId] = useState("")
  const [delay, setDelay] = useState("")
  const schema = Object.hasOwn(events, kind) ? events[kind] : undefined
  const fields = useMemo(() => (schema === undefined ? undefined : fieldsOf(schema)), [schema])
  useEffect(() => {
    const wait = delay === "" ? undefined : Number(delay)
    const isWrong = kind.trim() === "" || data === undefined || (wait !== undefined && !(wait >= 0))
    const id = eventId.trim() === "" ? undefined : eventId.trim()
    onChange(isWrong || data === undefined ? undefined : { kind: kind.trim(), data, eventId: id, delay: wait })
  }, [kind, data, eventId, delay])
  return (
    <>
      <label class="field">
        Kind
        <input
          class="mono"
          list="kinds"
          required
          value={kind}
          onInput={({ currentTarget }) => setKind(currentTarget.value)}
        />
        <datalist id="kinds">
          {kinds.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      {fields === undefined ? (
        <FreeData key={kind} onChange={setData} />
      ) : (
        <Fields key={kind} fields={fields} onChange={setData} />
      )}
      <div class="pair">
        <label class="field">
          Event id
          <input
            class="mono"
            value={eventId}
            placeholder="a new one"
            onInput={({ currentTarget }) => setEventId(currentTarget.value)}
          />
        </label>
        <label class="field">
          Delay in seconds
          <input
            type="number"
            min="0"
            step="any"
            value={delay}
            placeholder="none"
            onInput={({ currentTarget }) => setDelay(currentTarget.value)}
          />
        </label>
      </div>
    </>
  )
}
