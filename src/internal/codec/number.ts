/** A double as Python's `repr` prints it: the same shortest digits as JavaScript's, an exponent from 1e16 on and below 1e-4. */
export const pythonFloat = (n: number): string => {
  if (n === Number.POSITIVE_INFINITY) return "inf"
  if (n === Number.NEGATIVE_INFINITY) return "-inf"
  if (Number.isNaN(n)) return "nan"
  if (n === 0) return Object.is(n, -0) ? "-0.0" : "0.0"
  const [mantissa = "", exponent = ""] = n.toExponential().split("e")
  const power = Number(exponent)
  if (power < -4 || power >= 16) {
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`
  }
  // within these bounds JavaScript prints no exponent
  const plain = String(n)
  return plain.includes(".") ? plain : `${plain}.0`
}

/**
 * Whether `JSON.stringify` writes a number so that it is read back as the same: not where it would write a double beyond 2^53 with the
 * digits of an integer, nor negative zero. False for what is no number of JSON.
 */
export const isPlainNumber = (n: number): boolean =>
  n > -(2 ** 53) && n < 2 ** 53 && (n !== 0 || 1 / n === Number.POSITIVE_INFINITY)

/**
 * The JSON text of a finite double, which reads back as the same double: beyond 2^53, and for negative zero, with a fraction or an
 * exponent.
 */
export const numberText = (n: number): string => (isPlainNumber(n) ? String(n) : pythonFloat(n))

/** The most digits of an integer that Python's readers take. */
export const maxDigits = 4300

const beyondDigits = 10n ** BigInt(maxDigits)

/** Whether Python's readers refuse an integer for its length. */
export const isTooLong = (n: bigint): boolean => n >= beyondDigits || n <= -beyondDigits
