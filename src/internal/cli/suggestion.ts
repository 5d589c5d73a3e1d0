/** How many characters have to be put in, taken out, exchanged or turned around to make one text of the other. */
export const distance = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}

// Texts that long are no words that somebody typed.
const longest = 200

/** The text that was probably meant: one that this begins, or else the one that is the fewest typing errors away; none where all are far. */
export const nearest = (text: string, candidates: ReadonlyArray<string>): string | undefined => {
  if (text.length > longest) return undefined
  const lower = text.toLowerCase()
  const begun = candidates.find((candidate) => lower.length >= 2 && candidate.toLowerCase().startsWith(lower))
  if (begun !== undefined) return begun
  const most = Math.max(1, Math.floor(text.length / 3))
  const [best] = candidates
    .filter((candidate) => candidate.length <= longest)
    .map((candidate) => ({ candidate, away: distance(lower, candidate.toLowerCase()) }))
    .filter(({ away }) => away <= most)
    .toSorted((a, b) => a.away - b.away)
  return best?.candidate
}

/** `; did you mean ...?`, or nothing. */
export const didYouMean = (text: string, candidates: ReadonlyArray<string>): string => {
  const found = nearest(text, candidates)
  return found === undefined ? "" : `; did you mean ${JSON.stringify(found)}?`
}
