import * as Effect from "effect/Effect"
import { type CliError, usage } from "./failure.js"
import { flagNames, repeatedNames, valueNames } from "./options.js"
import { didYouMean, nearest } from "./suggestion.js"

/** The words of the commands: verbs by noun, and none for a noun that is a command by itself. */
export type Words = { readonly [noun: string]: ReadonlyArray<string> }

/** An argument that is an option, in parts. `value` is what comes after `=`. */
interface Named {
  readonly name: string
  readonly value: string | undefined
}

const named = (argument: string): Named | undefined => {
  if (argument === "-h") return { name: "help", value: undefined }
  if (argument === "-y") return { name: "yes", value: undefined }
  const [, name, , value] = /^--([^=]+)(=(.*))?$/s.exec(argument) ?? []
  return name === undefined ? undefined : { name, value }
}

/** Options, with what each takes, apart from all else. */
interface Parted {
  readonly options: Array<string>
  readonly others: Array<string>
}

const part = (args: ReadonlyArray<string>): Effect.Effect<Parted, CliError> =>
  Effect.gen(function* () {
    const parted: Parted = { options: [], others: [] }
    for (let i = 0; i < args.length; i++) {
      const argument = args[i] ?? ""
      if (argument === "--") {
        parted.others.push(...args.slice(i + 1))
        break
      }
      const option = named(argument)
      if (option === undefined) {
        parted.others.push(argument)
        continue
      }
      const { name, value } = option
      if (flagNames.includes(name)) {
        if (value !== undefined) return yield* usage(`--${name} takes no value`)
        parted.options.push(`--${name}`)
        continue
      }
      if (!valueNames.includes(name)) {
        const near = didYouMean(
          `--${name}`,
          [...flagNames, ...valueNames].map((known) => `--${known}`)
        )
        return yield* usage(`there is no option ${JSON.stringify(`--${name}`)}${near}`)
      }
      const taken = value ?? args[++i]
      if (taken === undefined) return yield* usage(`--${name} takes a value`)
      if (taken === "" && repeatedNames.includes(name)) return yield* usage(`--${name} is given without a value`)
      parted.options.push(`--${name}`, taken)
    }
    return parted
  })

const oneOf = (words: ReadonlyArray<string>): string => `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

/** The noun and the verb that begin a command. */
const wordsOf = (words: Words, [noun, verb]: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, CliError> =>
  Effect.gen(function* () {
    if (noun === undefined) return []
    const verbs = Object.hasOwn(words, noun) ? words[noun] : undefined
    if (verbs === undefined) {
      const nouns = Object.keys(words)
      const near = nearest(noun, nouns) === undefined ? `: expected ${oneOf(nouns)}` : didYouMean(noun, nouns)
      return yield* usage(`there is no command ${JSON.stringify(noun)}${near}`)
    }
    if (verbs.length === 0 || verb === undefined) return [noun]
    if (verbs.includes(verb)) return [noun, verb]
    const near = nearest(verb, verbs) === undefined ? `: expected ${oneOf(verbs)}` : didYouMean(verb, verbs)
    return yield* usage(`there is no command "${noun} ${verb}"${near}`)
  })

const shells = ["sh", "bash", "fish", "zsh"]

/** That completions are asked for a shell that there are some for. */
const checkShell = (options: ReadonlyArray<string>): Effect.Effect<void, CliError> => {
  const at = options.indexOf("--completions")
  const shell = options[at + 1] ?? ""
  return at < 0 || shells.includes(shell)
    ? Effect.void
    : usage(`--completions knows no ${JSON.stringify(shell)}: expected ${oneOf(shells)}`)
}

/** What asks @effect/cli for itself, and needs no command. */
const asksForItself = (options: ReadonlyArray<string>): boolean =>
  ["--help", "--version", "--completions", "--wizard"].some((option) => options.includes(option))

/**
 * The arguments in the order that @effect/cli reads them in: the words of the command, its options, and all else behind `--`. People write
 * them in any order, and with `=`.
 */
export const arrange = (args: ReadonlyArray<string>, words: Words): Effect.Effect<ReadonlyArray<string>, CliError> =>
  Effect.gen(function* () {
    const { options, others } = yield* part(args)
    yield* checkShell(options)
    const command = yield* wordsOf(words, others)
    const [noun] = command
    if (asksForItself(options)) return [...command, ...options.filter((option) => option !== "--json")]
    if (noun === undefined) return ["--help"]
    const verbs = words[noun] ?? []
    if (verbs.length > 0 && command.length === 1) {
      return yield* usage(`${noun} needs to be told what to do: ${oneOf(verbs)}`)
    }
    const rest = others.slice(command.length)
    // Among several @effect/cli passes over it, and what is left would select something else.
    if (rest.includes("")) return yield* usage("an argument is empty")
    return [...command, ...options, ...(rest.length === 0 ? [] : ["--", ...rest])]
  })
