// The last fenced block of a text: what a model that was asked for one block gave.

/** A fenced block: the word behind its opening fence, and the lines within. */
interface Fenced {
  readonly label: string;
  readonly body: string;
}

const OPENING = /^ {0,3}```\s*([\w+-]*)\s*$/;
const CLOSING = /^ {0,3}```\s*$/;

/**
 * The last block that is closed; undefined where there is none. Read line by line, so that time grows with the length alone. Within a
 * block a line with a labelled fence opens nothing: it is content.
 */
export function lastFence(text: string): Fenced | undefined {
  let last: Fenced | undefined;
  let open: { readonly label: string; readonly lines: string[] } | undefined;
  for (const line of text.split('\n')) {
    if (open === undefined) {
      const label = OPENING.exec(line)?.[1];
      if (label !== undefined) open = { label, lines: [] };
    } else if (CLOSING.test(line)) {
      last = { label: open.label, body: open.lines.join('\n') };
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  return last;
}
