/** The first whole millisecond that is not before a time in seconds; a time of a far future has no fraction to round. */
export const dueMillis = (seconds: number): number => {
  const millis = Math.ceil(seconds * 1000)
  if ((millis - 1) / 1000 >= seconds) return millis - 1
  return millis / 1000 < seconds ? millis + 1 : millis
}
