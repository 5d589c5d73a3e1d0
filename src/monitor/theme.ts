import { signal } from "@preact/signals"

type Theme = "light" | "dark"

const key = "holdfast-theme"
const dark = matchMedia("(prefers-color-scheme: dark)")

const kept = (): Theme | undefined => {
  try {
    const value = localStorage.getItem(key)
    return value === "light" || value === "dark" ? value : undefined
  } catch {
    return undefined
  }
}

const preferred = (): Theme => kept() ?? (dark.matches ? "dark" : "light")

export const theme = signal<Theme>(preferred())

const apply = (): void => {
  document.documentElement.dataset["theme"] = theme.value
}

apply()
theme.subscribe(apply)
dark.addEventListener("change", () => {
  theme.value = preferred()
})

export const toggleTheme = (): void => {
  theme.value = theme.value === "dark" ? "light" : "dark"
  try {
    localStorage.setItem(key, theme.value)
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}
