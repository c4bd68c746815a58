// Single damages: each takes away one thing that a judge should see, and leaves the rest as it is.

import { countBy } from '../../core/groups.js';
import { isContainer, parseJson } from '../../core/json.js';
import { drawn } from '../../core/random.js';
import { PREDICTION_TAG } from '../../core/reply.js';
import { actionOf, earlierTurns, textsOf } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';
import { isJson } from './units.js';
import { changed, type Subject, toolCallIn, type Variant } from './variant.js';

export const SINGLES = {
  'error-to-success': single('an error turned into success', successOf),
  'lost-fence': single('a fence, a frame or a closing bracket lost', withoutFence),
  'renamed-keys': single('keys or labels renamed, their values kept', renamedKeys),
  'contrary-path': single('a path changed so that it contradicts the history', contraryPath),
  'foreign-tool': single('the same said as another tool would', foreignTool),
  truncated: {
    family: 'single',
    help: 'cut off after three fifths, in the midst of a line',
    make: ({ sample }) => changed(sample, cut)?.replace(new RegExp(`\\n</${PREDICTION_TAG}>$`), ''),
  },
  'extra-prose': single('explanations around the observation', explained),
} satisfies Record<string, Variant>;

function single(help: string, damage: (text: string, subject: Subject) => string | undefined) {
  const make = (subject: Subject) => changed(subject.sample, (text) => damage(text, subject));
  return { family: 'single', help, make } as const;
}

/** What stands in a text, and what takes its place. */
type Step = readonly [pattern: RegExp, by: string | ((whole: string, ...groups: string[]) => string)];

function rewritten(text: string, steps: readonly Step[]): string {
  return steps.reduce((made, [pattern, by]) => {
    // Two calls, since `replace` is declared once for each kind.
    return typeof by === 'string' ? made.replace(pattern, by) : made.replace(pattern, by);
  }, text);
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

function explained(text: string, { random }: Subject): string {
  const [before, behind] = drawn(AROUND, random);
  return `${before}\n\n${text.trimEnd()}\n\n${behind}`;
}

/** Undefined where the observation names nothing. */
function renamedKeys(text: string, { sample }: Subject): string | undefined {
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
  const counts = countBy(text.match(LABEL) ?? []);
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
function contraryPath(text: string, { sample, random }: Subject): string | undefined {
  const told = [...textsOf(earlierTurns(sample)), actionOf(sample)];
  const known = new Set(told.flatMap(pathsIn));
  const paths = [...new Set(pathsIn(text))].filter((path) => known.has(path));
  if (paths.length === 0) return undefined;
  const parts = OTHER_PARTS.filter((part) => ![text, ...told].some((each) => each.includes(part)));
  if (parts.length === 0) return undefined;
  // The more parts a path has, the less it can be mistaken for anything else.
  const depth = (path: string) => path.split('/').length;
  const deepest = Math.max(...paths.map(depth));
  const candidates = paths.filter((each) => depth(each) === deepest);
  const path = drawn(candidates, random);
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

/** The first notation that the text is in decides; what is in none is put into the envelope of another tool. */
function foreignTool(text: string, { random }: Subject): string {
  if (isJson(text)) return drawn([(value: object) => asYaml(value), asXml], random)(JSON.parse(text));
  for (const [isIn, ...steps] of NOTATIONS) {
    const translated = isIn(text) ? rewritten(text, steps) : text;
    if (translated !== text) return translated;
  }
  return /^\s*(?:Error|Failed|fatal)\b/i.test(text)
    ? JSON.stringify({ ok: false, error: { code: 'E_FAILED', message: text.trim() } })
    : JSON.stringify({ stdout: text, stderr: '', returncode: 0 }, null, 2);
}

function asYaml(value: object, indent = ''): string {
  return Object.entries(value)
    .map(([key, part]: [string, unknown]) => {
      const head = indent + (Array.isArray(value) ? '-' : `${key}:`);
      if (!isContainer(part))
        return `${head} ${typeof part === 'string' ? part.replaceAll('\n', `\n${indent}  `) : String(part)}`;
      if (Object.keys(part).length === 0) return `${head} ${Array.isArray(part) ? '[]' : '{}'}`;
      return `${head}\n${asYaml(part, `${indent}  `)}`;
    })
    .join('\n');
}

function asXml(value: unknown, name = 'response', indent = ''): string {
  if (!isContainer(value)) return `${indent}<${name}>${escaped(String(value))}</${name}>`;
  const parts = Object.entries(value);
  if (parts.length === 0) return `${indent}<${name}/>`;
  const nameOf = (key: string) => (Array.isArray(value) ? 'item' : key.replace(/[^\w.-]/g, '_'));
  const children = parts.map(([key, part]) => asXml(part, nameOf(key), `${indent}  `));
  return [`${indent}<${name}>`, ...children, `${indent}</${name}>`].join('\n');
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

const has =
  (pattern: RegExp, least = 1) =>
  (text: string) =>
    (text.match(pattern)?.length ?? 0) >= least;
const windows = (path: string) => `C:${path.startsWith('/') ? '' : '\\'}${path.replaceAll('/', '\\')}`;

const UNIX_PROMPT = /^[\w.-]+@[\w.-]+:(\S*?)[#$](?= |$)/gm;
const ELEMENT = /^(\s*)<(\w+)((?: [\w-]+=(?:'[^']*'|"[^"]*"|[^\s'">]+))*) ?>([^<>]*)<\/\2>$/gm;
const NODE = /^(\s*)(?:\[(\d+)\] )?(\w+) (?:'([^'\n]*)'|"([^"\n]*)")(.*)$/gm;
const NO_COMMAND =
  "$1 : The term '$1' is not recognized as the name of a cmdlet, function, script file, or operable program.";

/** Whether a text is in the notation, and what makes it one in another. */
const NOTATIONS: readonly (readonly [isIn: (text: string) => boolean, ...into: Step[]])[] = [
  // Prompts and messages of a Unix shell as PowerShell's.
  [
    has(UNIX_PROMPT),
    [UNIX_PROMPT, (_, path = '') => `PS ${windows(path)}>`],
    [/^(?:\w+: )*(\S+): command not found$/gm, NO_COMMAND],
    [
      /^(\w+): .*?'?([\w./-]+)'?: No such file or directory$/gm,
      (_, tool, path = '') => `${tool} : Cannot find path '${windows(path)}' because it does not exist.`,
    ],
  ],
  // A table whose cells are parted by tabs as a tree of roles.
  [isTable, [/^[\s\S]*$/, treeOf]],
  // Elements, one a line, as lines of a tree.
  [
    has(ELEMENT, 2),
    [
      ELEMENT,
      (_, indent, kind, about = '', said) =>
        `${indent}[${/\bid=(\S+)/.exec(about)?.[1] ?? '-'}] ${kind} "${said}"${about.replace(/ id=\S+/, '')}`,
    ],
  ],
  // Lines of a tree as elements.
  [
    has(/^\s*\[\d+\] \w+ (?:'[^'\n]*'|"[^"\n]*")/gm, 3),
    [
      NODE,
      (_, indent, id, kind, single, double, rest = '') =>
        `${indent}<${kind}${id ? ` id="${id}"` : ''}${attributesIn(rest)}>${escaped(single || double || '')}</${kind}>`,
    ],
  ],
  // A list of hits in labelled lines as a page of hits.
  [
    has(/^\[\d+\] https?:/gm, 2),
    [/^\[\d+\] (https?:\S+)$/gm, '<cite>$1</cite>'],
    [/^Title: (.*)$/gm, '<h3>$1</h3>'],
    [/^Snippet: (.*)$/gm, '<p>$1</p>'],
    [/^([A-Z]\w+): (.*)$/gm, '<span class="meta">$1: $2</span>'],
  ],
  // A page in Markdown as HTML.
  [
    has(/^(?:#{1,6} +\S|\s*[*-] +\S)/gm, 3),
    [/^(#{1,6}) +(.*)$/gm, (_, { length } = '', title = '') => `<h${length}>${title.trim()}</h${length}>`],
    [/^(\s*)[*-] +(.*)$/gm, '$1<li>$2</li>'],
    [/`([^`\n]+)`/g, '<code>$1</code>'],
  ],
];

/** The rest of a line in a tree, without the commas outside of brackets. */
function attributesIn(rest: string): string {
  const outside = (comma: string, at: number) => (/[[(][^\])]*$/.test(rest.slice(0, at)) ? comma : '');
  return rest.replace(/,/g, outside).trimEnd();
}

function isTable(text: string): boolean {
  const [width = 0, ...widths] = text.split('\n').map((row) => row.split('\t').length);
  return width >= 4 && widths.filter((other) => other === width).length >= 2;
}

function treeOf(table: string): string {
  const [, ...rows] = table.split('\n').map((row) => row.split('\t'));
  return rows
    .map(([kind = '', name = '', ...rest]) => {
      const about = rest.filter((cell) => cell !== '').map((cell) => ` [${cell}]`);
      return `- ${kind}${name && ` "${name}"`}${about.join('')}`;
    })
    .join('\n');
}

/** Undefined where the observation shows no error of this turn. */
function successOf(text: string, { sample }: Subject): string | undefined {
  const turned = turnedToSuccess(text, sample);
  return turned === text || turned.trim() === '' ? undefined : turned;
}

function turnedToSuccess(text: string, sample: Sample): string {
  if (isJson(text)) return jsonSuccess(sample, text);
  if (isMessage(text, sample)) return successText(sample);
  if (PAGES.has(sample.domain)) return text;
  return withoutErrorLines(text, new Set(earlierTurns(sample).at(-1)?.response.split('\n')));
}

/** What these show is a page or a screen: an error that stands there is what it is about. */
const PAGES: ReadonlySet<string> = new Set(['search', 'web', 'android', 'os']);

/** Members that tell of an error, and what they are after a success. */
const JSON_ERRORS: readonly Step[] = [
  [/("(?:is_?error|failed)"\s*:\s*)true/gi, '$1false'],
  [/("(?:success|succeeded|ok)"\s*:\s*)false/gi, '$1true'],
  [/("(?:status|state|result|outcome)"\s*:\s*)"(?:error|failed|failure|fail|denied|not_found)"/gi, '$1"success"'],
  [/("(?:status|code|status_?code)"\s*:\s*)[45]\d\d\b/gi, '$1200'],
  [/("(?:exit_?(?:code|status)|return_?code)"\s*:\s*)(?:-?[1-9]\d*)/gi, '$10'],
];
const JSON_ERROR_TEXT = /"(error)"(\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const ERROR_STRING = /(:\s*)"(?:(?:\w*Error|Exception|Failed|Failure|fatal)\b[: ]|Traceback \()(?:[^"\\]|\\.)*"/gi;

function jsonSuccess(sample: Sample, text: string): string {
  const said = JSON.stringify(successText(sample));
  return rewritten(text, [
    [ERROR_STRING, (_, colon) => colon + said],
    [JSON_ERROR_TEXT, (_, _key, colon) => `"message"${colon}${said}`],
    ...JSON_ERRORS,
  ]);
}

const MESSAGE_LENGTH = 400;
const ERROR_MESSAGE =
  /^\s*(?:<?error\b|failed\b|failure\b|exception\b|fatal\b)|\b(?:not found|does not exist|no such|already exists|not allowed|permission denied|is invalid|unable to|could not be|cannot be)\b/i;

/** Whether the text is a tool's short message of an error as a whole. */
function isMessage(text: string, sample: Sample): boolean {
  const isShort = text.length <= MESSAGE_LENGTH && text.trim().split('\n').length <= 2;
  return isShort && ERROR_MESSAGE.test(text) && toolCallIn(actionOf(sample)) !== undefined;
}

function successText(sample: Sample): string {
  const call = toolCallIn(actionOf(sample));
  return call === undefined ? 'Completed successfully.' : `${call.name} completed successfully.`;
}

/** The text without its lines of error, or with these turned. @param before lines that stood there before: they are no errors of this turn */
function withoutErrorLines(text: string, before: ReadonlySet<string>): string {
  let block: (typeof BLOCKS)[number] | undefined;
  return text
    .split('\n')
    .flatMap((line) => {
      const isOld = before.has(line) && line.trim() !== '';
      if (!isOld && block !== undefined && !block.before.test(line)) {
        if (block.last?.test(line)) block = undefined;
        return [];
      }
      block = isOld ? undefined : BLOCKS.find(({ begins }) => begins.test(line));
      if (isOld) return [line];
      if (block !== undefined || ERRORS.some((error) => error.test(line))) return [];
      return [rewritten(line, TURNS)];
    })
    .join('\n');
}

const SHELL_PROMPT = /^[\w.-]+@[\w.-]+:/;

/** Lines that belong together: how they begin, before which line they end, and which is their last. */
const BLOCKS: readonly { readonly begins: RegExp; readonly before: RegExp; readonly last?: RegExp }[] = [
  { begins: /^Traceback \(most recent call last\):/, before: SHELL_PROMPT, last: /^\S/ },
  // A failure in the report of Python's unittest, up to the summary.
  { begins: /^(?:FAIL|ERROR): \w+ \(/, before: /^[\w.-]+@[\w.-]+:|^Ran \d+ test|^={20,}$/ },
];

const REASONS =
  "no such file|not found|cannot |can't |could not |permission denied|not specified|unbound variable|syntax error|failed|failure|refused|invalid|unknown|unrecognized|is a directory|not a directory|already exists|timed out|No module named";

const ERRORS: readonly RegExp[] = [
  new RegExp(`^(?:[\\w./+-]+: )+.*(?:${REASONS})`, 'i'),
  /^(?:fatal|error|hint|npm error|npm ERR!|E|ERROR)(?:: |:$| |$)/,
  /^(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)/,
  /^\S+:\d+(?::\d+)?: (?:fatal )?error: /,
  /^(?:CONFLICT \(|line \d+ failed)/,
  /^FAILED [\w/.-]+::/,
  // Borders around the reports that are left out.
  /^={20,}$/,
];

const TURNS: readonly Step[] = [
  [/^Automatic merge failed; .*$/, "Merge made by the 'ort' strategy."],
  [/\b((?:rc|exit(?: |_|-)?(?:code|status)|returncode|return code)\s*[:=]?\s*)[1-9]\d*\b/i, '$10'],
  [/( \.\.\. )(?:FAIL|ERROR)$/, '$1ok'],
  [/^not ok (?=\d)/, 'ok '],
  [/^FAILED \((?:failures|errors)=.*\)$/, 'OK'],
  [/^FAIL(?= +\S)/, 'PASS'],
  [/✕|✗|✘/, '✓'],
  [/(=+ )\d+ failed, (\d+ passed)/, '$1$2'],
  [/^(HTTP\/[\d.]+ )[45]\d\d .*$/, '$1200 OK'],
];
