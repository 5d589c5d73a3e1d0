/** A lone surrogate, which `encodeURIComponent` refuses. A row of another program may hold one. */
const loneSurrogate = /\p{Surrogate}/gu

const encode = (id: string): string => encodeURIComponent(id.replace(loneSurrogate, "\u{fffd}"))

/** A key that is the same each time that this event is delivered to this target. */
export const make = (targetId: string | null, eventId: string): string =>
  `${targetId === null ? "" : encode(targetId)}:${encode(eventId)}`
