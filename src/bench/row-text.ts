// A row's own text: where its keys stand, and the same text with keys taken out and added, so that nothing is printed again.

/** A top-level key of a JSON object, by offsets (UTF-16 units) into its text. */
export interface Member {
  readonly key: string;
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * The top-level members of a JSON object's text, duplicates included, in order.
 * The text must be valid JSON (parse it first): nothing is checked here.
 */
export function membersOf(text: string): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, text.indexOf('{') + 1);
  while (text[at] === '"') {
    const start = at;
    const keyEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = skipValue(text, valueStart);
    members.push({ key: JSON.parse(text.slice(start, keyEnd)) as string, start, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return members;
}

/**
 * The object's text without the members named in `drop`, and with `add` behind the rest. Every byte of the other members stays
 * as it was: big integers, key order, escapes and spaces.
 */
export function withMembers(text: string, drop: ReadonlySet<string>, add: Readonly<Record<string, unknown>>): string {
  const members = membersOf(text);
  const kept = members.filter((member) => !drop.has(member.key) && !(member.key in add));
  const pieces: string[] = [];
  if (kept.length === members.length && kept.length > 0) {
    const last = kept[kept.length - 1] as Member;
    pieces.push(text.slice(skipSpace(text, 0), last.valueEnd));
  } else {
    pieces.push('{', kept.map((member) => text.slice(member.start, member.valueEnd)).join(', '));
  }
  const added = JSON.stringify(add).slice(1, -1);
  if (added.length > 0) pieces.push(kept.length > 0 ? ', ' : '', added);
  return `${pieces.join('')}}`;
}

/**
 * A JSON value's text in one canonical form: no white space outside strings, strings in one spelling, numbers to the last digit
 * as they were written. Equal values that were serialised differently become equal text.
 */
export function canonicalText(value: string): string {
  return value.replace(/"(?:[^"\\]|\\.)*"|[ \t\r\n]+/g, (token) =>
    token[0] === '"' ? JSON.stringify(JSON.parse(token)) : '',
  );
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === 32 || code === 9 || code === 10 || code === 13; ) {
    code = text.charCodeAt(++at);
  }
  return at;
}

/** From a string's opening quote to behind its closing one; `indexOf` makes long strings cheap. */
function skipString(text: string, from: number): number {
  let quote = text.indexOf('"', from + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++;
  return backslashes % 2 === 1;
}

function skipValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return skipString(text, from);
  let at = from;
  if (first !== '{' && first !== '[') {
    while (at < text.length && !',}] \t\r\n'.includes(text[at] as string)) at++;
    return at;
  }
  let depth = 0;
  do {
    const character = text[at];
    if (character === '"') {
      at = skipString(text, at);
      continue;
    }
    if (character === '{' || character === '[') depth++;
    if (character === '}' || character === ']') depth--;
    at++;
  } while (depth > 0);
  return at;
}
