import { choices, repeatedNames, valueNames } from "../cli/options.js"

type Mend = (text: string) => string

/** In bash, @effect/cli looks for verbs, and for words with a hyphen, where it would never find them; behind each option it offers files. */
const bash: Mend = (text) =>
  text
    .replace(
      /^( +)(holdfast(?:,\w+)*),(\w+)\)$/gm,
      (_, indent: string, nouns: string, word: string) =>
        `${indent}${nouns.replaceAll(",", "__")},${word.replaceAll("__", "-")})`
    )
    .replace(/^( +--([\w-]+)\)\n +COMPREPLY=\( \$\(compgen )-f "\$\{cur\}"/gm, (whole, begin: string, name: string) => {
      const words = choices.get(name)
      return words === undefined ? whole : `${begin}-W "${words.join(" ")}" -- "\${cur}"`
    })

/** In zsh it leaves out that an option takes a value, so that the value would be taken for an argument. */
const zsh: Mend = (text) =>
  text.replace(
    /^( +')(--([\w-]+)\[.*\])(' \\)$/gm,
    (whole, begin: string, option: string, name: string, end: string) => {
      if (!valueNames.includes(name)) return whole
      const words = choices.get(name)
      const many = repeatedNames.includes(name) ? "*" : ""
      return `${begin}${many}${option}:${name}:${words === undefined ? " " : `(${words.join(" ")})`}${end}`
    }
  )

const fish: Mend = (text) =>
  text.replace(/^(complete .* -l ([\w-]+) -r -f)( .*)$/gm, (whole, begin: string, name: string, rest: string) => {
    const words = choices.get(name)
    return words === undefined ? whole : `${begin} -a '${words.join(" ")}'${rest}`
  })

/** Completions as shells need them. Other texts stay as they are. */
export const mended: Mend = (text) => {
  if (text.startsWith("function _holdfast_bash")) return bash(text)
  if (text.startsWith("#compdef holdfast")) return zsh(text)
  return text.startsWith("complete -c holdfast") ? fish(text) : text
}
