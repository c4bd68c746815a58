// Single damages: each takes away one thing that a judge should see, and leaves the rest as it is.

import { countBy } from '../../core/groups.js';
import { parseJson } from '../../core/json.js';
import { drawn } from '../../core/random.js';
import { PREDICTION_TAG } from '../../core/reply.js';
import { actionOf, earlierTurns, textsOf } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';
import { foreignTool } from './foreign-tool.js';
import { successOf } from './success.js';
import { isJson } from './units.js';
import { changed, type Subject, type Variant } from './variant.js';

export const SINGLES = {
  'error-to-success': single('an error turned into success', ({ sample }, text) => successOf(sample, text)),
  'lost-fence': single('a fence, a frame or a closing bracket lost', (_subject, text) => withoutFence(text)),
  'renamed-keys': single('keys or labels renamed, their values kept', ({ sample }, text) => renamedKeys(sample, text)),
  'contrary-path': single('a path changed so that it contradicts the history', contraryPath),
  'foreign-tool': single('the same said as another tool would', foreignTool),
  truncated: {
    family: 'single',
    help: 'cut off after three fifths, in the midst of a line',
    make: ({ sample }) => changed(sample, cut)?.replace(new RegExp(`\\n</${PREDICTION_TAG}>$`), ''),
  },
  'extra-prose': single('explanations around the observation', explained),
} satisfies Record<string, Variant>;

function single(help: string, damage: (subject: Subject, text: string) => string | undefined) {
  return {
    family: 'single',
    help,
    make: (subject: Subject) => changed(subject.sample, (text) => damage(subject, text)),
  } as const;
}

const FENCE = /^[ \t]*(?:```|~~~).*$/;
const BORDER = /^[ \t]*(?:[-=_~─━═]{4,}|\+(?:[-=]+\+)+|[┌└╔╚├╠][─═┬┴┼┤┐┘╦╩╬╣╗╝]+)[ \t]*$/;
const CLOSING_TAG = /<\/[\w-]+>[ \t]*$/;

/** The last of what frames a text and is more than a part of a line: a code fence, the end of JSON, a drawn border, an element's end. */
function withoutFence(text: string): string | undefined {
  const lines = text.split('\n');
  const without = (last: number) => lines.filter((_, place) => place !== last).join('\n');
  const fence = lines.findLastIndex((line) => FENCE.test(line));
  if (fence !== -1) return without(fence);
  if (isJson(text)) return text.trimEnd().slice(0, -1).trimEnd();
  const border = lines.findLastIndex((line) => BORDER.test(line));
  if (border !== -1) return without(border);
  const tagged = lines.filter((line) => CLOSING_TAG.test(line));
  const last = lines.lastIndexOf(tagged.at(-1) ?? '');
  if (tagged.length < 2) return undefined;
  return lines.map((line, place) => (place === last ? line.replace(CLOSING_TAG, '') : line)).join('\n');
}

const SHORTEST_CUT = 20;

/** Where a word stands at three fifths, the cut goes through it. */
function cut(text: string): string | undefined {
  if (text.trim().length < SHORTEST_CUT) return undefined;
  const middle = Math.round(text.length * 0.6);
  const inWord = /(?<=[\p{L}\p{N}])(?=[\p{L}\p{N}])/gu;
  inWord.lastIndex = middle;
  const at = inWord.exec(text)?.index ?? middle;
  // Far behind the middle, little would be lost.
  const kept = text.slice(0, at > text.length * 0.75 ? middle : at);
  return kept.trimEnd() === text.trimEnd() ? undefined : kept;
}

const AROUND = [
  [
    'Based on the state so far, the environment will carry out this action as follows. This is what I expect it to show:',
    'As you can see, the action has been carried out, and everything else stays as it was before. The agent can go on from here.',
  ],
  [
    'Let me work out what happens. First the action is checked, then it is applied to the state of the earlier turns, which gives:',
    'Explanation: the output above follows from the earlier turns. Some details may differ in a real environment.',
  ],
  [
    "Here's the simulated output of the environment for this step:",
    'Note: this is a simulation. Values that were not given before are my best guess.',
  ],
] as const;

function explained({ random }: Subject, text: string): string {
  const [before, behind] = drawn(AROUND, random);
  return `${before}\n\n${text.trimEnd()}\n\n${behind}`;
}

/** Undefined where the observation names nothing. */
function renamedKeys(sample: Sample, text: string): string | undefined {
  return [jsonKeys(text), columns(text), attributes(text), labels(sample, text)].find(
    (renamed) => renamed !== undefined && renamed !== text,
  );
}

const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ id: 'identifier', name: 'title', title: 'heading', type: 'kind', text: 'content', content: 'body', url: 'link' },
  ...{ status: 'state', state: 'condition', error: 'failure', message: 'info', result: 'output', results: 'items' },
  ...{ date: 'day', snippet: 'excerpt', entities: 'objects', value: 'amount', selected: 'chosen', checked: 'ticked' },
  ...{ position: 'origin', size: 'extent', tag: 'role', states: 'flags', level: 'depth', package: 'bundle' },
  ...{ app: 'program', bounds: 'rect', desc: 'hint', alt: 'hint', description: 'summary', path: 'location' },
};

/** A synonym; else the words of the key joined in another way. */
function otherName(key: string): string {
  const synonym = SYNONYMS[key.toLowerCase()];
  if (synonym !== undefined) return /^\p{Lu}/u.test(key) ? synonym.charAt(0).toUpperCase() + synonym.slice(1) : synonym;
  if (/[_-]/.test(key)) return key.replace(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (/[a-z][A-Z]/.test(key)) return key.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return /\s/.test(key) ? key.replace(/\s+/g, '_') : `${key}_value`;
}

/** Of JSON, and of the JSON in its strings. */
function jsonKeys(text: string): string | undefined {
  if (!isJson(text)) return undefined;
  return text.replace(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (whole, key: string, colon?: string) => {
    if (colon !== undefined) return `"${otherName(key)}"${colon}`;
    const inner = jsonKeys(String(parseJson(`"${key}"`)));
    return inner === undefined ? whole : JSON.stringify(inner);
  });
}

/** The heads of a table whose cells are parted by tabs, in its first line. */
function columns(text: string): string | undefined {
  const [head = '', ...rows] = text.split('\n');
  const cells = head.split('\t');
  const fits = rows.filter((row) => row.split('\t').length === cells.length).length;
  if (cells.length < 3 || fits < rows.length / 2 || fits === 0 || !cells.every((cell) => /^[a-z]/i.test(cell)))
    return undefined;
  const renamed = cells.map((cell) => cell.replace(/^[\w-]+/, otherName));
  return [renamed.join('\t'), ...rows].join('\n');
}

/** `name=value` within lines, where at least three lines have some. */
function attributes(text: string): string | undefined {
  const attribute = /(?<=[\s,<])([a-z][\w-]*)=(?=["'\w[(])/gi;
  const has = (line: string) => /^\s*(?:<\w|\[\d+\])/.test(line) && line.search(attribute) !== -1;
  const lines = text.split('\n');
  if (lines.filter(has).length < 3) return undefined;
  return lines
    .map((line) => (has(line) ? line.replace(attribute, (_, key: string) => `${otherName(key)}=`) : line))
    .join('\n');
}

const LABEL = /^(?!\w*(?:Error|Exception)\b)\p{Lu}\p{Ll}[\p{L} ]{0,30}(?=: \S|:$)/gmu;

/** Labels at the start of lines that come again: here, or in what this environment showed before. */
function labels(sample: Sample, text: string): string | undefined {
  const counts = countBy(text.match(LABEL) ?? [], String);
  const before = new Set(earlierTurns(sample).flatMap(({ response }) => response.match(LABEL) ?? []));
  const isLabel = (label: string) => before.has(label) || (counts[label] ?? 0) > 1;
  return text.replace(LABEL, (label) => (isLabel(label) ? otherName(label) : label));
}

/** Addresses, absolute paths and such of two parts or more, and names of files with a known ending. */
const PATH =
  /https?:\/\/[\w.-]+(?:\/[\w.@%+~-]+)+|(?<![\w/.<])(?!(?:HTTP|application|text|image|audio|video|multipart)\/)(?:~|\.{0,2}[\w@][\w.@+-]*|\.{1,2})?(?:\/\.?[\w@][\w.@+-]*)+|(?<![\w/.-])[\w-]+\.(?:py|js|ts|tsx|json|txt|md|html?|css|csv|toml|ya?ml|sh|c|h|cpp|go|rs|java|rb|log|xml|sql|ini|cfg|conf|png|jpe?g|pdf|docx?|xlsx?|pptx?|zip|gz|tar)(?![\w/-]|\.\w)/g;

/** Parts of paths that are hardly ever there; one that the texts know is not taken. */
const OTHER_PARTS = ['backup', 'old', 'legacy', 'staging', 'archive2', 'copy', 'tmp_store', 'mirror'];

/** Every mention of one path is changed alike, so that the observation still agrees with itself. */
function contraryPath({ sample, random }: Subject, text: string): string | undefined {
  const told = [...textsOf(earlierTurns(sample)), actionOf(sample)];
  const known = new Set(told.flatMap(pathsIn));
  const paths = [...new Set(pathsIn(text))].filter((path) => known.has(path));
  if (paths.length === 0) return undefined;
  const parts = OTHER_PARTS.filter((part) => ![text, ...told].some((each) => each.includes(part)));
  if (parts.length === 0) return undefined;
  // The more parts a path has, the less it can be mistaken for anything else.
  const depth = (path: string) => path.split('/').length;
  const deepest = Math.max(...paths.map(depth));
  const path = drawn(
    paths.filter((each) => depth(each) === deepest),
    random,
  );
  const other = elsewhere(path, drawn(parts, random));
  return text.replace(PATH, (found) => (trimmed(found) === path ? other + found.slice(path.length) : found));
}

/** A full stop behind a path ends a sentence. */
function trimmed(path: string): string {
  return path.replace(/\.+$/, '');
}

/** The paths in a text; parts without a letter, as in 3/4, make none. */
function pathsIn(text: string): string[] {
  return (text.match(PATH) ?? []).map(trimmed).filter((path) => /\p{L}/u.test(path));
}

/** The path with another last folder; where it has none, another name. */
function elsewhere(path: string, part: string): string {
  const [whole, start = '', last = ''] = /^(.*\/)([^/]+)$/.exec(path) ?? [];
  if (whole === undefined) return path.replace(/^[\w-]+/, part);
  const folder = /^(.*[\w~]\/)?([\w@+.-]+)\/$/.exec(start);
  const isHost = /^https?:\/\/[^/]*\/$/.test(start);
  if (isHost || folder === null) return last.includes('.') ? `${start}${part}/${last}` : start + part;
  return `${folder[1] ?? (start.startsWith('/') ? '/' : '')}${part}/${last}`;
}
