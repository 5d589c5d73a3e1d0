import { parse } from "lossless-json"

const powers = Array.from({ length: 309 }, (_, exponent) => Number(`1e${exponent}`))
const most = 2n ** 64n - 1n

const scaled = (significand: bigint, exponent: number): number => {
  let value = Number(significand)
  let rest = exponent
  while (powers[Math.abs(rest)] === undefined) {
    if (value === 0) return 0
    if (rest >= 0) throw new RangeError("number out of range")
    value /= 1e308
    rest += 308
  }
  const power = powers[Math.abs(rest)] ?? 1
  return rest >= 0 ? value * power : value / power
}

/** A decimal as sqld reads it: as many of its digits as 64 bits hold, then one multiplication or division by a power of ten. */
export const decimal = (text: string): number => {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  let significand = 0n
  let power = Number(exponent)
  let full = false
  for (const [i, digit] of Array.from(whole + fraction).entries()) {
    const next = significand * 10n + BigInt(digit)
    full ||= next > most
    if (!full) significand = next
    if (full ? i < whole.length : i >= whole.length) power += full ? 1 : -1
  }
  const value = scaled(significand, power)
  return sign === "-" ? -value : value
}

/** Digits beside which there may be a number that sqld reads in another way than JavaScript does. */
const special = /\d[.eE]|\d{16}/

const parseAll = (text: string): unknown => parse(text, undefined, { parseNumber: decimal })

/** JSON with its numbers as sqld reads them. Where all of them are short and whole, they are what JavaScript reads, in far less time. */
export const parseJson = (text: string): unknown => {
  if (special.test(text)) return parseAll(text)
  try {
    return JSON.parse(text)
  } catch {
    return parseAll(text)
  }
}
