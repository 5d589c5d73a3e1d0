// Figures of the rounds of a peer, and how they are printed.

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]

const median = (values) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5
  )

/** The medians of the rounds; the reason where there is a round that could not be done. */
export const summary = (rounds) => {
  const { cannot } = rounds.find((round) => round.cannot !== undefined) ?? {}
  if (cannot !== undefined) return { cannot }
  const sorted = rounds.map(({ times }) => times.toSorted((a, b) => a - b)).filter((times) => times.length > 0)
  const of = (q) => (sorted.length === 0 ? undefined : median(sorted.map((times) => quantile(times, q))))
  const [first] = rounds
  const armed =
    first.armedIn === undefined ? "" : `armed in ${median(rounds.map(({ armedIn }) => armedIn)).toFixed(1)} s`
  return {
    p50: of(0.5),
    p99: of(0.99),
    seconds: median(rounds.map(({ seconds }) => seconds)),
    rate: median(rounds.map(({ seconds, units }) => units / seconds)),
    processor:
      first.processor === undefined
        ? undefined
        : median(rounds.map(({ processor, units }) => (processor * 1000) / units)),
    note: first.note ?? armed
  }
}

const precise = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

const time = (ms) => {
  if (ms === undefined) return "–"
  return ms >= 1000 ? `${precise(ms / 1000)} s` : `${precise(ms)} ms`
}

/** A line of a table. Rates are compared: over 1 is faster than Holdfast. */
export const row = ({ cannot, note, p50, p99, peer, processor, rate }, own) => {
  if (cannot !== undefined) return `| ${peer} | – | – | – | – | – | ${cannot} |`
  const ratio = own?.rate === undefined ? "–" : `x${precise(rate / own.rate)}`
  return `| ${peer} | ${time(p50)} | ${time(p99)} | ${precise(rate)}/s | ${ratio} | ${time(processor)} | ${note} |`
}
