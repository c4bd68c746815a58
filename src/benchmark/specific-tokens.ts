// Tokens that are specific enough to be right or wrong: numbers, paths, names and states, recognised by their form.

type SpecificKind = 'number' | 'path' | 'name' | 'state';

/** `start` and `end` are offsets in the text. */
export interface SpecificToken {
  readonly kind: SpecificKind;
  readonly start: number;
  readonly end: number;
}

/** States and their opposites. A state must be a complete value, so that no word of a sentence counts as one. */
export const OPPOSITES: Readonly<Record<string, string>> = Object.fromEntries(
  (
    'true/false True/False TRUE/FALSE yes/no On/Off on/off ON/OFF ok/FAIL enabled/disabled checked/not-checked open/closed ' +
    'expanded/collapsed active/inactive passed/failed PASSED/FAILED success/failure online/offline running/stopped visible/hidden'
  )
    .split(' ')
    .map((pair) => pair.split('/'))
    .flatMap(([one = '', other = '']) => [
      [one, other],
      [other, one],
    ]),
);

const STATE = `(?:${Object.keys(OPPOSITES).join('|')})`;
/** Each alternative has its own group. No alternative starts within a run on which it has failed, so time stays linear. */
const TOKEN = new RegExp(
  [
    // 1: an address, or a path of at least two parts.
    String.raw`(\bhttps?:\/\/[^\s"'<>)\]\\]+|(?<![\w/.~@:+*<-])(?:~|\.{1,2}|[\w@][\w.@+-]*)?\/[\w@*{},.+-]*(?:\/[\w@*{},.+-]*)*)`,
    // 2: a state that is a value: after = or : or in quotes, or a column of its own.
    String.raw`((?<==)${STATE}(?![\w-])|(?<=[\t"']|: |\.\.\. |^)${STATE}(?=$|["',;)\]}>\t])|(?<=\s)(?:not-checked|checked|disabled|enabled)(?= bounds=))`,
    // 3: a complete quoted text, a column between tabs, or the content of a markup element.
    String.raw`((?<=(?:^|[\s=([{,:>])")[^"\\\n]{3,60}(?="(?:$|[\s,;:)\]}.<]))|(?<=(?:^|[\s=([{,:])')[^'\\\n]{3,60}(?='(?:$|[\s,;:)\]}.<]))|(?<=\t)[^\t\n]{3,60}(?=\t)|(?<=>)[^<>\n]{3,60}(?=<\/))`,
    // 4: a run of letters, digits and the marks that join the parts of a name, or a number with thousands separators.
    String.raw`((?<![\w@.,[(=-])[1-9]\d{0,2}(?:,\d{3})+(?![\w,\]-])|(?<![\w@.\\-])[\w@-][\w.@-]*)`,
  ].join('|'),
  'g',
);
const FILE =
  /^[\w@-][\w.@-]*\.(?:txt|md|rst|jsonl?|[cm]?[jt]sx?|py|ipynb|toml|ya?ml|sh|log|html?|css|csv|tsv|xml|[ch](?:pp)?|go|rs|java|lock|cfg|ini|conf|t?gz|zip|tar|pdf|png|jpe?g|svg|gif|sql|db|docx?|xlsx?|pptx?|od[tsp]|mp[34])$/;
/** Parts that are joined by a dot, an underscore, a dash or an at sign, that begin with a capital letter within the word, or are digits. */
const NAME = /^[\w@-]*[A-Za-z][\w@-]*[._@-]\w|^[A-Za-z]*[a-z][A-Z]|^[A-Za-z_]+\d/;
const LONGEST_NAME = 80;

/** The specific tokens of a part of a text in order; they do not overlap. */
export function specificTokens(text: string): SpecificToken[] {
  const found: SpecificToken[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [whole, path, state, quote, run] = match;
    const { index: start } = match;
    if (quote !== undefined) found.push(...shifted(tokensOfValue(quote), start));
    else if (state !== undefined) found.push({ kind: 'state', start, end: start + whole.length });
    else if (path !== undefined) found.push(...pathToken(path, start));
    else if (run !== undefined) found.push(...shifted(runTokens(run), start));
  }
  return found;
}

/** The tokens of a text that is a value of its own, in quotes or in JSON: those within it, or all of it as a name. */
export function tokensOfValue(text: string): SpecificToken[] {
  if (Object.hasOwn(OPPOSITES, text)) return [{ kind: 'state', start: 0, end: text.length }];
  const inner = specificTokens(text);
  if (inner.length > 0 || text.length > LONGEST_NAME) return inner;
  return /[A-Za-z]{2}/.test(text) ? [{ kind: 'name', start: 0, end: text.length }] : [];
}

function shifted(tokens: readonly SpecificToken[], by: number): SpecificToken[] {
  return tokens.map(({ kind, start, end }) => ({ kind, start: start + by, end: end + by }));
}

/** `and/or` is not a path: a path without an anchor needs a digit, a dot, an underscore or a dash, or three parts. */
function pathToken(raw: string, start: number): SpecificToken[] {
  const text = raw.replace(/[.,;:*{-]+$/, '');
  const isPath =
    /[A-Za-z]{2}/.test(text) &&
    text.length < 200 &&
    (/^(?:[~.]|https?:|\/\w)|[\d._-]/.test(text) || text.split('/').filter((part) => part !== '').length > 2);
  return isPath ? [{ kind: 'path', start, end: start + text.length }] : [];
}

function runTokens(raw: string): SpecificToken[] {
  const text = raw.replace(/[.-]+$/, '');
  if (text.length > LONGEST_NAME) return [];
  const token = (kind: SpecificKind) => [{ kind, start: 0, end: text.length }];
  if (/^-?\d[\d.,]*$/.test(text)) return digitsOf(text) >= 3 ? token('number') : [];
  const range = /^(\d{3,})-(\d{3,})$/.exec(text);
  if (range !== null) {
    const middle = text.indexOf('-');
    return [
      { kind: 'number', start: 0, end: middle },
      { kind: 'number', start: middle + 1, end: text.length },
    ];
  }
  if (FILE.test(text)) return token('path');
  return text.length >= 4 && /[A-Za-z]{2}/.test(text) && NAME.test(text) ? token('name') : [];
}

function digitsOf(text: string): number {
  return text.replace(/\D/g, '').length;
}
