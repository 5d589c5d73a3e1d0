// What the engine makes events for, each with an id that says what it is for, so that making it again makes the same id.
const purposes = ["start", "timeout", "emit", "finished", "cancel", "activity", "given-up"] as const

/** The id of an event that the engine makes: its purpose, and what tells it from others of the same purpose. */
export const derived = (purpose: (typeof purposes)[number], ...parts: ReadonlyArray<string | number>): string =>
  [purpose, ...parts].join(":")

/** The purpose of which the engine might make this id; nothing where it makes none such. */
export const purposeOf = (id: unknown): string | undefined =>
  typeof id === "string" ? purposes.find((purpose) => id.startsWith(`${purpose}:`)) : undefined

/** Why an id may not come from outside, or nothing: whoever sends it first makes the engine's own event a repetition, which is skipped. */
export const reserved = (id: unknown): string | undefined => {
  const purpose = purposeOf(id)
  return purpose === undefined
    ? undefined
    : `begins with ${purpose}:, as ids do that the engine makes: give it a namespace (Event.externalId), or reservedIds: "accept" where it carries on what an engine has emitted`
}

const escaped: { readonly [character: string]: string } = { "%": "%25", ":": "%3A" }

/** An id that none of another namespace equals, and none that the engine makes. */
export const external = (namespace: string, id: string): string =>
  `ext:${namespace.replace(/[%:]/g, (character) => escaped[character] ?? character)}:${id}`
