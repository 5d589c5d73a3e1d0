import * as escapes from "./escapes.js"

const redacted = "<redacted>"

// What is shorter is no secret, and would be cut out of every word.
const shortest = 4

/** The ways in which a page or an answer in JSON may write a text that it repeats. */
const forms = (secret: string): ReadonlyArray<string> => {
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
  // Half a character has no form in a URL.
  const inUrl = /\p{Cs}/u.test(secret) ? [] : [encodeURIComponent(secret)]
  return [secret, html, ...inUrl, JSON.stringify(secret).slice(1, -1)]
}

const isLong = ({ length }: string): boolean => length >= shortest

/** Without secrets in the forms that are usual. */
const redactForms = (text: string, secrets: ReadonlyArray<string>): string =>
  secrets
    .flatMap(forms)
    .filter(isLong)
    .reduce((text, secret) => text.replaceAll(secret, redacted), text)

// Whoever escapes what need not be escaped writes one of these.
const escaped = /\\[u/"\\bfnrt]|%[0-9a-f]{2}|&[#a-z]/i

/** A text without secrets: a server's message, or the page of whatever stands before it, may repeat what it was sent, and escape any character of it. */
export const redact = (text: string, secrets: ReadonlyArray<string>): string => {
  const without = redactForms(text, secrets)
  if (!escaped.test(without)) return without
  const found = escapes.find(without, secrets.filter(isLong))
  return found.length === 0 ? without : escapes.replace(without, found, redacted)
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// In a text of JSON the quotes within a value are escaped, so that data never looks like this.
const said = /("(?:error|message)"\s*:\s*)("[^"\\]*(?:\\.[^"\\]*)*")/gs

// Servers escape quotes in the data that they answer, and hardly anything else.
const unusual = /\\[u/]|%[0-9a-f]{2}|&[#a-z]/i

/** An answer of success without secrets in what it says of failures. The rest of it may be data, and stays as it is, unless it is no JSON. */
export const redactErrors = (body: string, secrets: ReadonlyArray<string>): string => {
  if (redactForms(body, secrets) === body && !unusual.test(body)) return body
  if (!isJson(body)) return redact(body, secrets)
  return body.replace(said, (_, name: string, text: string) => name + redact(text, secrets))
}

// A password may have a slash in it, so that the address is none, or an @.
const userinfo = /^([a-z][a-z0-9+.-]*:\/\/)\S*@/i
const address = /[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'`<>]+/gi

/** A text without what may be secret in the addresses that are in it: who is to have access, and all that comes behind a question mark. */
export const withoutAddressSecrets = (text: string): string =>
  text.replace(address, (url) => url.replace(userinfo, `$1${redacted}@`).replace(/\?.*$/s, `?${redacted}`))
