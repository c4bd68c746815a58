// What follows by rule from the rest of an observation: an exit status after a failure, and a count of what is listed.

import { type JsonSpan, readJson, type Span } from './units.js';

interface RuleToken extends Span {
  readonly kind: 'number' | 'state';
  readonly ground: 'rule';
}

const FAILURE =
  /Traceback \(most recent call last\)|\b(?:[A-Z]\w*)?Error\b|\b(?:error|fatal):|FAILED|No such file or directory|command not found/;
const EXIT_STATUS =
  /\b(?:exit(?:ed with)? (?:status|code)|exit_code|exitCode|returncode)["']?(?: is|[:=])? ?([1-9]\d{0,2})\b/g;
/** A rule is asked no more often than this in a text, so that one that looks back does not take for ever. */
const MOST_QUESTIONS = 50;

/** Counts that a whole text must bear out: the place of the number, and what is counted. */
const COUNTS: readonly (readonly [RegExp, RegExp])[] = [
  [/^Ran (\d+) tests? in /gm, / \.\.\. (?:ok|FAIL|ERROR|skipped.*|expected failure)$/gm],
  [/^FAILED \(.*?failures=(\d+)/gm, /^FAIL: /gm],
  [/^FAILED \(.*?errors=(\d+)/gm, /^ERROR: /gm],
  [/^1\.\.(\d+)$/gm, /^(?:not )?ok \d/gm],
  [/^# tests (\d+)$/gm, /^(?:not )?ok \d/gm],
  [/^# pass (\d+)$/gm, /^ok \d/gm],
  [/^# fail (\d+)$/gm, /^not ok \d/gm],
  [/^=+ .*?\b(\d+) passed\b/gm, / PASSED\b/gm],
  [/^=+ .*?\b(\d+) failed\b/gm, /^FAILED /gm],
  [/^ (\d+) files? changed/gm, /^ \S.* \| +(?:\d+ [+-]*|Bin .*)$/gm],
  [/^collected (\d+) items?$/gm, / (?:PASSED|FAILED|ERROR|SKIPPED)\b/gm],
];
const LISTED =
  /^(?:Found|Showing|Listing|Total:?|There are)? ?(\d+) (?:\w+ )?(?:files?|match(?:es)?|results?|entries|items?|rows?|packages|directories|branches|tests)\b[^.\n]*$/gm;
const ROWS = /^\((\d+) rows?\)$/gm;
const SUM = /^ *(\d+) total$/gm;
const COUNT_KEY = /^"(?:\w*(?:[cC]ount|[tT]otal|[lL]ength)\w*|num_\w+|size)"$/;

/** Tokens that follow by rule; each has been borne out by what is counted. */
export function tokensByRule(text: string): RuleToken[] {
  const found: RuleToken[] = [];
  const add = (kind: RuleToken['kind'], start: number, digits: string) =>
    found.push({ kind, ground: 'rule', start, end: start + digits.length });
  const each = (
    pattern: RegExp,
    holds: (count: number, match: RegExpExecArray) => boolean,
    kind: RuleToken['kind'],
  ) => {
    let asked = 0;
    for (const match of text.matchAll(pattern)) {
      if (++asked > MOST_QUESTIONS) return;
      const digits = match[1] ?? '';
      if (holds(Number(digits), match)) add(kind, match.index + match[0].indexOf(digits), digits);
    }
  };
  if (FAILURE.test(text)) each(EXIT_STATUS, () => true, 'state');
  for (const [pattern, counted] of COUNTS) {
    if (!new RegExp(pattern.source, 'm').test(text)) continue;
    const count = text.match(counted)?.length ?? 0;
    each(pattern, (number) => number > 0 && number === count, 'number');
  }
  each(LISTED, (number, match) => number > 0 && number === linesBehind(text, match.index + match[0].length), 'number');
  each(
    ROWS,
    (number, match) =>
      number > 0 && number === linesBefore(text, match.index).findIndex((line) => /^[-+ ]+$/.test(line)),
    'number',
  );
  each(SUM, (number, match) => number === sumBefore(text, match.index), 'number');
  const json = readJson(text, 0, text.length);
  if (json !== undefined) found.push(...countsIn(text, json));
  return found;
}

/** How many lines that are not blank follow on this one without a gap, where the list ends the text or a blank line ends it. */
function linesBehind(text: string, end: number): number {
  const rest = text.slice(end + 1).replace(/^(?:[ \t]*\n)+/, '');
  const gap = rest.search(/\n[ \t]*(?:\n|$)/);
  return (gap === -1 ? rest : rest.slice(0, gap)).split('\n').filter((line) => line.trim() !== '').length;
}

/** The lines before a place, the nearest first. */
function linesBefore(text: string, start: number): string[] {
  return text.slice(0, start).split('\n').slice(0, -1).reverse();
}

function sumBefore(text: string, start: number): number | undefined {
  const lines = linesBefore(text, start);
  const end = lines.findIndex((line) => !/^ *\d+ +\S/.test(line));
  const listed = end === -1 ? lines : lines.slice(0, end);
  return listed.length < 2 ? undefined : listed.reduce((sum, line) => sum + Number.parseInt(line, 10), 0);
}

/** Members that count the one list beside them. */
function countsIn(text: string, node: JsonSpan): RuleToken[] {
  const lists = node.parts.filter(({ value }) => value.kind === 'array');
  const length = node.kind === 'object' && lists.length === 1 ? (lists[0]?.value.parts.length ?? 0) : 0;
  return node.parts.flatMap(({ key, value }) => {
    const counts =
      length > 0 &&
      key !== undefined &&
      COUNT_KEY.test(text.slice(key.start, key.end)) &&
      text.slice(value.start, value.end) === String(length);
    const { start, end } = value;
    return counts ? [{ kind: 'number' as const, ground: 'rule' as const, start, end }] : countsIn(text, value);
  });
}
