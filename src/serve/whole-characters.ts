// The text of tokens as they come, where a character's bytes may be spread over several.

/** Bytes of a character that can be missing at the end of a text: each shows as one replacement character. */
const LONGEST_PARTIAL = 3;
const TOKENS_BEFORE = 4;

/** The text of tokens; `before` are some of those that precede them, for tokenisers whose spaces depend on it. */
export type TextOf = (tokens: readonly number[], before: readonly number[]) => string;

export interface WholeCharacters {
  /** The text that is complete with these tokens. */
  push(tokens: readonly number[]): string;
  /** What is still incomplete. */
  rest(): string;
}

/** A character whose bytes are spread over several tokens comes only when it is complete. */
export function wholeCharacters(textOf: TextOf): WholeCharacters {
  let before: readonly number[] = [];
  let open: number[] = [];
  let given = 0;
  const upTo = (text: string, end: number): string => {
    const out = text.slice(given, Math.max(end, given));
    given = Math.max(end, given);
    return out;
  };
  return {
    push(tokens) {
      open.push(...tokens);
      const text = textOf(open, before);
      const partial = Math.min(LONGEST_PARTIAL, /\uFFFD*$/.exec(text)?.[0].length ?? 0);
      const out = upTo(text, text.length - partial);
      if (partial === 0) {
        before = [...before, ...open].slice(-TOKENS_BEFORE);
        open = [];
        given = 0;
      }
      return out;
    },
    rest: () => (open.length === 0 ? '' : upTo(textOf(open, before), Number.POSITIVE_INFINITY)),
  };
}
