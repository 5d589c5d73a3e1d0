/**
 * What stands between the fields of a log. Spreadsheets write commas, semicolons or tabs, as the language of the computer has it.
 */
import { open } from "node:fs/promises"
import * as csv from "csv-parse/sync"

/** Those that are looked for, a comma first: it is taken where nothing tells them apart. */
const candidates: ReadonlyArray<string> = [",", ";", "\t", "|"]

const names: ReadonlyMap<string, string> = new Map([
  [",", "commas"],
  [";", "semicolons"],
  ["\t", "tabs"]
])

/** A delimiter as people call it. */
export const describe = (delimiter: string): string => names.get(delimiter) ?? JSON.stringify(delimiter)

// A header is longer than this only where it is none.
const headerBytes = 65_536

const beginningOf = async (path: string): Promise<Buffer> => {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(headerBytes), position: 0 })
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** The names that a header has when it is read with this delimiter; none where it cannot be read so. */
const headerOf = (beginning: Buffer, delimiter: string): ReadonlyArray<string> => {
  try {
    const [header = []]: ReadonlyArray<ReadonlyArray<string>> = csv.parse(beginning, { bom: true, delimiter, to: 1 })
    return header
  } catch {
    return []
  }
}

/** The delimiter by which most of the wanted names are in the header, and then the one by which it has the most names. */
export const recognize = async (path: string, wanted: ReadonlyArray<string>): Promise<string> => {
  const beginning = await beginningOf(path)
  let best = { delimiter: ",", found: 0, fields: 0 }
  for (const delimiter of candidates) {
    const header = headerOf(beginning, delimiter)
    const found = wanted.filter((name) => header.includes(name)).length
    const better = found === best.found ? header.length > best.fields : found > best.found
    if (better) best = { delimiter, found, fields: header.length }
  }
  return best.delimiter
}
