/** @internal */
export const isAtLeast = (version: string, least: readonly [number, number, number]): boolean => {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+].*)?$/.exec(version)
  if (match === null) return false
  const parts = match.slice(1, 4).map((part) => Number(part ?? 0))
  const difference = parts.map((part, i) => part - (least[i] ?? 0)).find((difference) => difference !== 0)
  return difference === undefined || difference > 0
}
