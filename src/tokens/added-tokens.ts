// Tokens that were added to a vocabulary by hand, `<|im_start|>` for one: they are found in a text before anything else is.

import type { AddedToken } from './library.js';

type Added = Pick<AddedToken, 'content' | 'lstrip' | 'rstrip'>;

/** How many added tokens a text has, and the texts around them; `leads` where the first of these is its beginning. */
interface Taken {
  readonly found: number;
  readonly texts: readonly string[];
  readonly leads: boolean;
}

/** Tokens that begin with one character. */
interface Family {
  readonly tokens: ReadonlyMap<string, Added>;
  /** Their lengths, the longest first. */
  readonly lengths: readonly number[];
}

/** The longest token that stands at a place is the one, as in Hugging Face's tokenizers. The time does not grow with their number. */
export function addedTokens(tokens: readonly Added[]): (text: string) => Taken {
  const families = familiesOf(tokens.filter(({ content }) => content !== ''));
  if (families.size === 0) return (text) => ({ found: 0, texts: text === '' ? [] : [text], leads: true });
  const first = new RegExp(`[${[...families.keys()].map(escaped).join('')}]`, 'g');
  return (text) => {
    const texts: string[] = [];
    let [found, start] = [0, 0];
    let isStripped = false;
    let leads = false;
    const add = (end: number, isStrippedToo: boolean) => {
      let between = text.slice(start, end);
      if (isStripped) between = between.trimStart();
      if (isStrippedToo) between = between.trimEnd();
      if (between === '') return;
      if (texts.length === 0) leads = start === 0;
      texts.push(between);
    };
    first.lastIndex = 0;
    for (let hit = first.exec(text); hit !== null; hit = first.exec(text)) {
      const token = tokenAt(text, hit.index, families.get(hit[0]));
      if (token === undefined) continue;
      add(hit.index, token.lstrip);
      found++;
      start = hit.index + token.content.length;
      isStripped = token.rstrip;
      first.lastIndex = start;
    }
    add(text.length, false);
    return { found, texts, leads };
  };
}

function familiesOf(tokens: readonly Added[]): ReadonlyMap<string, Family> {
  const byFirst = new Map<string, Map<string, Added>>();
  for (const token of tokens) {
    const first = token.content.charAt(0);
    byFirst.set(first, (byFirst.get(first) ?? new Map<string, Added>()).set(token.content, token));
  }
  return new Map(
    [...byFirst].map(([first, family]) => {
      const lengths = [...new Set([...family.keys()].map(({ length }) => length))];
      return [first, { tokens: family, lengths: lengths.sort((a, b) => b - a) }];
    }),
  );
}

function tokenAt(text: string, at: number, family: Family | undefined): Added | undefined {
  if (family === undefined) return undefined;
  for (const length of family.lengths) {
    const token = family.tokens.get(text.slice(at, at + length));
    if (token !== undefined) return token;
  }
  return undefined;
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
