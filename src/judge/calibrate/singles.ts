// Single corruptions: each removes one thing that a judge should see, and leaves the rest unchanged.

import { inspect } from 'node:util';
import { countBy } from '../../core/groups.js';
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
  'foreign-tool': single('the same content as another tool would print it', foreignTool),
  truncated: {
    family: 'single',
    help: 'cut off after three fifths, in the middle of a line',
    make: ({ sample }) => changed(sample, cut)?.replace(new RegExp(`\\n</${PREDICTION_TAG}>$`), ''),
  },
  'extra-prose': single('explanations around the observation', explained),
} satisfies Record<string, Variant>;

function single(help: string, corrupt: (text: string, subject: Subject) => string | undefined) {
  const make = (subject: Subject) => changed(subject.sample, (text) => corrupt(text, subject));
  return { family: 'single', help, make } as const;
}

/** The frame of a text: the line of a code fence or of a drawn border, or the end of an element. */
const FRAME =
  /^[ \t]*(?:(?:```|~~~).*|[-=_~─━═]{4,}|\+(?:[-=]+\+)+|[┌└╔╚├╠][─═┬┴┼┤┐┘╦╩╬╣╗╝]+)[ \t]*(?:\n|$(?!\n))|<\/[\w-]+>[ \t]*$/gm;

/** Without the closing bracket of JSON, or else without the last frame. */
function withoutFence(text: string): string | undefined {
  if (isJson(text)) return text.trimEnd().slice(0, -1).trimEnd();
  const last = Array.from(text.matchAll(FRAME)).at(-1);
  return last && text.slice(0, last.index) + text.slice(last.index + last[0].length);
}

const SHORTEST_CUT = 20;

/** Cuts through the first word after three fifths of the text. */
function cut(text: string): string | undefined {
  if (text.trim().length < SHORTEST_CUT) return undefined;
  const middle = Math.round(text.length * 0.6);
  const inWord = text.slice(middle).search(/(?<=[\p{L}\p{N}])[\p{L}\p{N}]/u);
  return text.slice(0, middle + Math.max(0, inWord));
}

function explained(text: string): string {
  const before =
    'Let me work out what happens. First the action is checked, then it is applied to the state of the earlier turns, which gives:';
  const behind =
    'Explanation: the output above follows from the earlier turns. Some details may differ in a real environment.';
  return `${before}\n\n${text.trimEnd()}\n\n${behind}`;
}

/** Undefined if the observation has no names. */
function renamedKeys(text: string, { sample }: Subject): string {
  if (isJson(text)) return text.replace(/(?<=")(?:[^"\\]|\\.)*(?="\s*:)/g, otherName);
  const end = text.search(/\n|$/);
  const head = text.slice(0, end);
  if (TABLE_HEAD.test(head)) return head.replace(/(?<=^|\t)[\w-]+/g, otherName) + text.slice(end);
  const told = [...earlierTurns(sample).map(({ response }) => response), text].join('\n');
  const counts = countBy(told.match(LABEL) ?? []);
  return text.replace(LABEL, (label) => ((counts[label] ?? 0) > 1 ? otherName(label) : label));
}

/** The head of a table whose cells are separated by tabs. */
const TABLE_HEAD = /^[a-z][^\t]*(?:\t[a-z][^\t]*){2,}$/i;
/** A label at the start of a line, and the name in `name=value` in an element or in a numbered line of a tree. */
const LABEL =
  /^(?!\w*(?:Error|Exception)\b)\p{Lu}\p{Ll}[\p{L} ]{0,30}(?=: \S|:$)|(?<=^\s*(?:<\w|\[\d+\]).*[\s,])[a-z][\w-]*(?==["'\w[(])/gmu;

const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ id: 'identifier', name: 'title', title: 'heading', type: 'kind', text: 'content', content: 'body', url: 'link' },
  ...{ status: 'state', state: 'condition', error: 'failure', message: 'info', result: 'output', results: 'items' },
  ...{ date: 'day', snippet: 'excerpt', entities: 'objects', value: 'amount', selected: 'chosen', checked: 'ticked' },
  ...{ position: 'origin', size: 'extent', tag: 'role', states: 'flags', level: 'depth', package: 'bundle' },
  ...{ app: 'program', bounds: 'rect', desc: 'hint', alt: 'hint', description: 'summary', path: 'location' },
};

function otherName(key: string): string {
  return SYNONYMS[key.toLowerCase()] ?? `${key}_value`;
}

/** URLs, absolute paths and paths of two parts or more, and names of files with a known extension. */
const PATH =
  /https?:\/\/[\w.-]+(?:\/[\w.@%+~-]+)+|(?<![\w/.<])(?!(?:HTTP|application|text|image|audio|video|multipart)\/)(?:~|\.{0,2}[\w@][\w.@+-]*|\.{1,2})?(?:\/\.?[\w@][\w.@+-]*)+|(?<![\w/.-])[\w-]+\.(?:py|js|ts|tsx|json|txt|md|html?|css|csv|toml|ya?ml|sh|c|h|cpp|go|rs|java|rb|log|xml|sql|ini|cfg|conf|png|jpe?g|pdf|docx?|xlsx?|pptx?|zip|gz|tar)(?![\w/-]|\.\w)/g;

/** Path components that rarely exist; one that occurs in the texts is not used. */
const OTHER_PARTS = ['backup', 'old', 'legacy', 'staging', 'archive2', 'copy', 'tmp_store', 'mirror'];

/** Moves every mention of one path to another folder, so that the observation stays consistent with itself. */
function contraryPath(text: string, { sample, random }: Subject): string | undefined {
  const told = [...textsOf(earlierTurns(sample)), actionOf(sample)];
  const known = new Set(told.flatMap(pathsIn));
  const paths = [...new Set(pathsIn(text))].filter((path) => known.has(path));
  const parts = OTHER_PARTS.filter((part) => ![text, ...told].some((each) => each.includes(part)));
  if (paths.length === 0 || parts.length === 0) return undefined;
  const path = drawn(paths, random);
  const other = path.replace(/[^/]*$/, `${drawn(parts, random)}/$&`);
  return text.replace(PATH, (found) => (trimmed(found) === path ? other + found.slice(path.length) : found));
}

/** A full stop after a path ends a sentence. */
function trimmed(path: string): string {
  return path.replace(/\.+$/, '');
}

/** The paths in a text; parts without a letter, as in 3/4, are not paths. */
function pathsIn(text: string): string[] {
  return (text.match(PATH) ?? []).map(trimmed).filter((path) => /\p{L}/u.test(path));
}

/** JSON as a JavaScript console prints it, and anything else in a JSON envelope. */
function foreignTool(text: string): string {
  return isJson(text)
    ? inspect(JSON.parse(text), { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity })
    : JSON.stringify({ stdout: text, stderr: '', returncode: 0 }, null, 2);
}

/** Undefined if the observation shows no error of this turn. */
function successOf(text: string, { sample }: Subject): string | undefined {
  const turned = turnedToSuccess(text, sample);
  return turned.trim() === '' ? undefined : turned;
}

/** These show a page or a screen: an error there belongs to its content. */
const PAGES: ReadonlySet<string> = new Set(['search', 'web', 'android', 'os']);

function turnedToSuccess(text: string, sample: Sample): string {
  if (isJson(text)) return rewritten(text, JSON_ERRORS);
  const call = toolCallIn(actionOf(sample));
  if (call !== undefined && text.length <= MESSAGE_LENGTH && ERROR_MESSAGE.test(text)) {
    return `${call.name} completed successfully.`;
  }
  if (PAGES.has(sample.domain)) return text;
  // Lines that were already there before are not errors of this turn.
  const before = new Set(earlierTurns(sample).at(-1)?.response.split('\n'));
  return rewritten(text, BLOCKS)
    .split('\n')
    .flatMap((line) => {
      if (before.has(line)) return [line];
      return ERROR_LINES.some((error) => error.test(line)) ? [] : [rewritten(line, TURNS)];
    })
    .join('\n');
}

/** What a text contains, and its replacement. */
type Step = readonly [pattern: RegExp, by: string];

function rewritten(text: string, steps: readonly Step[]): string {
  return steps.reduce((made, [pattern, by]) => made.replace(pattern, by), text);
}

const SUCCESS = '"Completed successfully."';

/** Members that report an error, and their values after a success. */
const JSON_ERRORS: readonly Step[] = [
  [/(:\s*)"(?:(?:\w*Error|Exception|Failed|Failure|fatal)\b[: ]|Traceback \()(?:[^"\\]|\\.)*"/gi, `$1${SUCCESS}`],
  [/"error"(\s*:\s*)"(?:[^"\\]|\\.)*"/gi, `"message"$1${SUCCESS}`],
  [/("(?:is_?error|failed)"\s*:\s*)true/gi, '$1false'],
  [/("(?:success|succeeded|ok)"\s*:\s*)false/gi, '$1true'],
  [/("(?:status|state|result|outcome)"\s*:\s*)"(?:error|failed|failure|fail|denied|not_found)"/gi, '$1"success"'],
  [/("(?:status|code|status_?code)"\s*:\s*)[45]\d\d\b/gi, '$1200'],
  [/("(?:exit_?(?:code|status)|return_?code)"\s*:\s*)(?:-?[1-9]\d*)/gi, '$10'],
];

/** A tool's short error message. */
const MESSAGE_LENGTH = 400;
const ERROR_MESSAGE =
  /^\s*(?:<?error\b|failed\b|failure\b|exception\b|fatal\b)|\b(?:not found|does not exist|no such|already exists|not allowed|permission denied|is invalid|unable to|could not be|cannot be)\b/i;

/** A Python traceback, and a failure in a unittest report up to the next one or to the summary. */
const BLOCKS: readonly Step[] = [
  [/^Traceback \(most recent call last\):\n(?:[ \t].*\n)*.*\n?/gm, ''],
  [/^(?:FAIL|ERROR): \w+ \([\s\S]*?(?=^={20,}$|^Ran \d+ test|^[\w.-]+@[\w.-]+:)/gm, ''],
];

const REASONS =
  "no such file|not found|cannot |can't |could not |permission denied|not specified|unbound variable|syntax error|failed|failure|refused|invalid|unknown|unrecognized|is a directory|not a directory|already exists|timed out|No module named";

/** A program's complaint, an exception, a compiler's error, a test's failure, and the border around removed reports. */
const ERROR_LINES: readonly RegExp[] = [
  new RegExp(`^(?:[\\w./+-]+: )+.*(?:${REASONS})`, 'i'),
  /^(?:fatal|error|hint|npm error|npm ERR!|E|ERROR)(?:: |:$| |$)/,
  /^(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)/,
  /^\S+:\d+(?::\d+)?: (?:fatal )?error: /,
  /^FAILED [\w/.-]+::/,
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
