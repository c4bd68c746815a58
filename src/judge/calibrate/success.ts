// An observation that shows an error, told as if the action had succeeded.

import { OBSERVATION_MARKER } from '../../core/reply.js';
import { actionOf, earlierTurns } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';
import { isJson } from './units.js';
import { toolCallIn } from './variant.js';

/** Undefined where the observation shows no error of this turn. */
export function successOf(sample: Sample, text: string): string | undefined {
  const turned = isJson(text)
    ? jsonSuccess(sample, text)
    : (messageSuccess(sample, text) ?? linesSuccess(sample, text));
  return turned === undefined || turned === text || turned.trim() === '' ? undefined : turned;
}

/** Members that tell of an error, and what they are after a success. */
const JSON_ERRORS: readonly (readonly [pattern: RegExp, success: string])[] = [
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
  let turned = text.replace(ERROR_STRING, (_, colon: string) => colon + said);
  turned = turned.replace(JSON_ERROR_TEXT, (_, _key, colon: string) => `"message"${colon}${said}`);
  for (const [pattern, success] of JSON_ERRORS) turned = turned.replace(pattern, success);
  return turned;
}

const MESSAGE_LENGTH = 400;
const ERROR_MESSAGE =
  /^\s*(?:<?error\b|failed\b|failure\b|exception\b|fatal\b)|\b(?:not found|does not exist|no such|already exists|not allowed|permission denied|is invalid|unable to|could not be|cannot be)\b/i;

/** A tool's short message as a whole: what the same tool said when it succeeded, with this call's own arguments, else that it did. */
function messageSuccess(sample: Sample, text: string): string | undefined {
  const call = toolCallIn(actionOf(sample));
  const isMessage = text.length <= MESSAGE_LENGTH && text.trim().split('\n').length <= 2;
  if (call === undefined || !isMessage || !ERROR_MESSAGE.test(text)) return undefined;
  const successes = earlierTurns(sample).flatMap(({ prompt, response }) => {
    const earlier = toolCallIn(prompt);
    const said = response.replace(OBSERVATION_MARKER, '').trim();
    const isOther = earlier?.name !== call.name || said === '' || ERROR_MESSAGE.test(said.slice(0, MESSAGE_LENGTH));
    return isOther ? [] : [{ given: earlier.arguments, said }];
  });
  const names = (given: object) => Object.keys(given).sort().join();
  const alike = successes.findLast(({ given }) => names(given) === names(call.arguments)) ?? successes.at(-1);
  if (alike === undefined) return successText(sample);
  return Object.entries(alike.given).reduce((said, [name, value]) => {
    const now = call.arguments[name];
    return isShort(value) && isShort(now) ? said.replaceAll(value, () => now) : said;
  }, alike.said);
}

/** A name, a path, an address: longer texts stand in a response in other words. */
function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length > 2 && /^[\w./:@~-]+$/.test(value);
}

function successText(sample: Sample): string {
  const call = toolCallIn(actionOf(sample));
  return call === undefined ? 'Completed successfully.' : `${call.name} completed successfully.`;
}

const LAST_ERROR = /^([^\n:]{0,60}\berror\b[^\n:]{0,60}): +(?!(?:none|null|no|-)$)\S.*$/gim;

/** Lines of error left out or turned, but for those that stood there before; on pages, only a field that says whether there was one. */
function linesSuccess(sample: Sample, text: string): string {
  const before = earlierTurns(sample).map(({ response }) => response);
  const fields = text.replace(LAST_ERROR, (line, label: string) => {
    return before.some((response) => response.includes(`${label}: none`)) ? `${label}: none` : line;
  });
  return PAGES.has(sample.domain) ? fields : withoutErrorLines(fields, new Set(before.at(-1)?.split('\n')));
}

/** What these show is a page or a screen: an error that stands there is what it is about. */
const PAGES: ReadonlySet<string> = new Set(['search', 'web', 'android', 'os']);

/** @param before lines that an earlier screen showed: they are no errors of this turn */
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
      return [TURNS.reduce((turned, [error, success]) => turned.replace(error, success), line)];
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

const TURNS: readonly (readonly [error: RegExp, success: string])[] = [
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
