import type { BuildOptions } from "esbuild"

/** Bundles modules of this folder, each into a file; gives their paths by name. */
export declare const bundle: <Name extends string>(
  entries: { readonly [N in Name]: string },
  options?: BuildOptions
) => Promise<{
  readonly [N in Name]: string
}>
