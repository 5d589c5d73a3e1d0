import { createRequire } from "node:module"
import * as Predicate from "effect/Predicate"

/** The version of this package; nothing where it was bundled into another one. */
export const versionOfPackage = (): string => {
  try {
    const found: unknown = createRequire(import.meta.url)("../../../package.json")
    return Predicate.hasProperty(found, "name") && found.name === "holdfast" && Predicate.hasProperty(found, "version")
      ? String(found.version)
      : ""
  } catch {
    return ""
  }
}
