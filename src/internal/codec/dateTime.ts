const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(?:[Zz]|[+-](\d{2}):?(\d{2}))?)?$/

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/**
 * Whether a text is an ISO 8601 date, or a date and time, that the format's other readers take for one: a day of the calendar from the year
 * 1 on, no hour 24, no leap second, and a zone of less than a day.
 */
export const isDateTime = (text: string): boolean => {
  const parts = pattern.exec(text)
  if (parts === null) return false
  // what is left out is 0, which is within the bounds of a time
  const part = (index: number): number => Number(parts[index] ?? 0)
  const [year, month, day] = [part(1), part(2), part(3)]
  if (year === 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false
  const [hour, minute, second, zoneHour, zoneMinute] = [part(4), part(5), part(6), part(7), part(8)]
  return hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60
}
