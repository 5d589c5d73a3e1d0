import { StoreRejected } from "../../StoreError.js"

/** The error that refuses an option of a store or of a runtime, which is named by its path. */
export const invalidOption = (path: string, detail: string): StoreRejected =>
  new StoreRejected({ operation: "open", reason: "invalid-input", path, detail })
