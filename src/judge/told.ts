// What the world model was told of its environment, as far as a judge needs it: an excerpt of the row's system prompt.

/** A stretch of a text, in UTF-16 units; `end` is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The longest excerpt, in UTF-16 units. */
const TOLD_LENGTH = 6_000;
/** Changes with what is taken into an excerpt. */
export const TOLD_VERSION = 1;

/** Opening braces in front of a tool's name that are tried as the start of its schema, and how long a schema may be. */
const MOST_BRACES = 40;
const LONGEST_SCHEMA = 30_000;
/** Places of names that are looked at: so the time stays bounded, whatever the text is. */
const MOST_PLACES = 20;
const LEFT_OUT = (count: number) => `\n[... ${count} characters left out ...]`;
/** No excerpt is so long that this could be longer. */
const NOTICE_LENGTH = LEFT_OUT(Number.MAX_SAFE_INTEGER).length;

/**
 * The system prompt, whole where it is short enough. Of a longer one, the schemas of the tools that the action names stand first, and
 * then what of its beginning has room; a notice says how much is left out.
 */
export function toldExcerpt(systemPrompt: string, action: string): string {
  if (systemPrompt.length <= TOLD_LENGTH) return systemPrompt;
  const room = TOLD_LENGTH - NOTICE_LENGTH;
  const schemas = namedSchemas(systemPrompt, action);
  const first = schemas.map(({ start, end }) => systemPrompt.slice(start, end)).join('\n');
  if (first.length >= room) return shortened(first, room, systemPrompt.length);
  const rest = without(systemPrompt, schemas);
  const before = first === '' ? '' : `${first}\n\n`;
  const head = wholeLines(rest, Math.max(0, room - before.length));
  return `${before}${head}${LEFT_OUT(rest.length - head.length)}`;
}

function shortened(text: string, room: number, all: number): string {
  const kept = wholeLines(text, room);
  return `${kept}${LEFT_OUT(all - kept.length)}`;
}

/** As many lines of the text as have room; of a first line that is too long, as much as has. */
function wholeLines(text: string, room: number): string {
  if (text.length <= room) return text;
  const end = text.lastIndexOf('\n', room);
  // No character is cut in two.
  return end > 0 ? text.slice(0, end) : text.slice(0, room).replace(/[\ud800-\udbff]$/, '');
}

const NAME = /"name"\s*:\s*"([^"\\]{1,200})"/g;

/** Where the JSON objects stand that describe a tool which the action names, in the order in which the action names them. */
function namedSchemas(systemPrompt: string, action: string): Span[] {
  const found: { readonly span: Span; readonly at: number }[] = [];
  let places = 0;
  for (const match of systemPrompt.matchAll(NAME)) {
    const at = placeOfName(action, match[1] ?? '');
    if (at === -1) continue;
    if (++places > MOST_PLACES) break;
    const span = objectAround(systemPrompt, match.index);
    const isNew = span !== undefined && !found.some(({ span: { start, end } }) => span.start < end && start < span.end);
    if (isNew) found.push({ span, at });
  }
  return found.sort((a, b) => a.at - b.at || a.span.start - b.span.start).map(({ span }) => span);
}

/** Where the action holds the name as a word of its own; -1 where it does not. */
function placeOfName(action: string, name: string): number {
  const isPart = (character: string) => /[\p{L}\p{N}_-]/u.test(character);
  for (let at = action.indexOf(name); at !== -1; at = action.indexOf(name, at + 1)) {
    if (!isPart(action.charAt(at - 1)) && !isPart(action.charAt(at + name.length))) return at;
  }
  return -1;
}

/** The smallest JSON object around a place. */
function objectAround(text: string, place: number): Span | undefined {
  let start = text.lastIndexOf('{', place);
  for (let tried = 0; start !== -1 && tried < MOST_BRACES; tried++) {
    const end = objectEnd(text.slice(start, start + LONGEST_SCHEMA));
    if (end !== undefined && start + end > place) return { start, end: start + end };
    start = start === 0 ? -1 : text.lastIndexOf('{', start - 1);
  }
  return undefined;
}

function without(text: string, spans: readonly Span[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    parts.push(text.slice(from, start));
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** Where the object ends (exclusive) that a text begins with, braces within strings not counted; undefined where it never does. */
function objectEnd(text: string): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quoted && char === '\\') i++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return i + 1;
  }
  return undefined;
}
