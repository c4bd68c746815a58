// A row's own text: where its keys are, and the same text with keys removed and added, so that nothing else is serialised again.

/** A top-level key of a JSON object, by offsets (UTF-16 units) into its text. */
interface Member {
  readonly key: string;
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * The top-level members of a JSON object's text, duplicates included, in order. The text must be valid JSON (parse it first): nothing
 * is checked here.
 */
export function membersOf(text: string): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, text.indexOf('{') + 1);
  while (text[at] === '"') {
    const start = at;
    const keyEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ key: String(JSON.parse(text.slice(start, keyEnd))), start, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return members;
}

/**
 * The object's text without the members named in `drop`, and with `add` after the rest. Every byte of the other members stays
 * unchanged: big integers, key order, escapes and spaces.
 */
export function withMembers(text: string, drop: ReadonlySet<string>, add: Readonly<Record<string, unknown>>): string {
  const members = membersOf(text);
  const isKept = ({ key }: Member) => !drop.has(key) && !Object.hasOwn(add, key);
  const last = members.findLastIndex(isKept);
  const pieces = [text.slice(skipSpace(text, 0), members[0]?.start ?? text.indexOf('{') + 1)];
  for (const [index, member] of members.slice(0, last + 1).entries()) {
    // With the comma and the spaces after it, except for the last member.
    const end = index === last ? member.valueEnd : members[index + 1]?.start;
    if (isKept(member)) pieces.push(text.slice(member.start, end));
  }
  const added = JSON.stringify(add).slice(1, -1);
  if (added.length > 0) pieces.push(last === -1 ? '' : ', ', added);
  return `${pieces.join('')}}`;
}

/**
 * A JSON value's text in one canonical form: no white space outside strings, strings in one spelling, numbers with the digits as
 * written. Equal values that were serialised differently get equal text. The result is not a slice of `value`, so keeping it does not
 * keep a complete line in memory.
 */
export function canonicalText(value: string): string {
  let canonical = '';
  let at = skipSpace(value, 0);
  while (at < value.length) {
    const end = value[at] === '"' ? skipString(value, at) : at + 1;
    canonical += value[at] === '"' ? JSON.stringify(JSON.parse(value.slice(at, end))) : value[at];
    at = skipSpace(value, end);
  }
  return canonical;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === 32 || code === 9 || code === 10 || code === 13; ) {
    code = text.charCodeAt(++at);
  }
  return at;
}

/** From a string's opening quote to just after its closing one; `indexOf` makes long strings cheap. */
function skipString(text: string, from: number): number {
  let quote = text.indexOf('"', from + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? text.length : quote + 1;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++;
  return backslashes % 2 === 1;
}

/** Where the JSON value that begins at `from` ends (exclusive); an unclosed list or object ends with the text. */
export function endOfValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return skipString(text, from);
  let at = from;
  if (first !== '{' && first !== '[') {
    while (at < text.length && !',}] \t\r\n'.includes(text.charAt(at))) at++;
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
  } while (depth > 0 && at < text.length);
  return at;
}
