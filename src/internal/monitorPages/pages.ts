/** A file of the pages: what it is, its text, and a tag that is another one where the text is. */
export interface Page {
  readonly type: string
  readonly text: string
  readonly tag: string
}

/**
 * The files of the pages by their paths; the document is the one without a path. In a checkout there are none: the build bundles what is in
 * the folder `monitor`, and puts it in the place of this module in `dist`.
 */
export const pages: { readonly [path: string]: Page } = {}
