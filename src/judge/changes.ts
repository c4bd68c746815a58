// What changed, computed for the judge: which lines of the truth are new, which are gone, and where the prediction differs.

import { equalRuns } from '../difference-runs.js';
import { counted } from '../figures.js';

/** Changes with what is listed. */
export const CHANGES_VERSION = 1;
/** UTF-16 units that the lines of one section may take, and one line of them. */
const SECTION_LENGTH = 1_800;
const LINE_LENGTH = 200;

/** The texts that are compared; `previous` is absent where the row shows no state before the turn. */
interface Observations {
  readonly previous: string | undefined;
  readonly truth: string;
  readonly prediction: string;
}

/** A line of the first text, of the second, or of both where they are equal. */
interface Aligned {
  readonly first?: string;
  readonly second?: string;
  /** Its number in the text in which it stands; in the first where it stands in both. */
  readonly at: number;
}

/**
 * The list, in sections of lines with a sign in front: `=` new in the truth, and the prediction has it; `-` in the truth, and the
 * prediction lacks it; `!` gone in the truth, and the prediction still has it; `+` in the prediction alone. Blank lines, and white space
 * at line ends, do not count.
 */
export function changesOf({ previous, truth, prediction }: Observations): string {
  const against = aligned(truth, prediction);
  const numbers = { truth: linesIn(truth), prediction: linesIn(prediction) };
  const differing = against.flatMap(({ first, second }) => {
    if (first !== undefined && second !== undefined) return [];
    return [first === undefined ? `+ ${second}` : `- ${first}`];
  });
  const difference = section(
    `the prediction against the truth: ${counted(differing.length, 'line that differs', 'lines that differ')}`,
    differing,
  );
  if (previous === undefined)
    return [`truth ${numbers.truth}, prediction ${numbers.prediction}`, ...difference].join('\n');

  const met = new Set(
    against.flatMap(({ first, second, at }) => (first === undefined || second === undefined ? [] : [at])),
  );
  const beyond = new Set(
    against.flatMap(({ first, second }) => (first === undefined && second !== undefined ? [second] : [])),
  );
  const turn = aligned(previous, truth);
  const added = turn.filter(({ first }) => first === undefined);
  const gone = turn.filter(({ second }) => second === undefined);
  const has = added.filter(({ at }) => met.has(at)).length;
  const kept = gone.flatMap(({ first = '' }) => (beyond.has(first) ? [`! ${first}`] : []));
  return [
    `previous state ${linesIn(previous)}, truth ${numbers.truth}, prediction ${numbers.prediction}`,
    ...section(
      `new in the truth: ${counted(added.length, 'line')}, of which the prediction has ${has}`,
      added.map(({ second, at }) => `${met.has(at) ? '=' : '-'} ${second}`),
    ),
    ...section(
      `gone in the truth: ${counted(gone.length, 'line')}, of which the prediction still has ${kept.length}`,
      kept,
    ),
    ...difference,
  ].join('\n');
}

/** The lines of both texts that are not blank, in order: between lines of both stand those of the first alone, then of the second. */
function aligned(first: string, second: string): Aligned[] {
  const [a, b] = [bare(first), bare(second)];
  const lines: Aligned[] = [];
  let [atA, atB] = [0, 0];
  for (const run of [...equalRuns(a, b), { a: a.length, b: b.length, length: 0 }]) {
    for (; atA < run.a; atA++) lines.push({ first: a[atA] ?? '', at: atA });
    for (; atB < run.b; atB++) lines.push({ second: b[atB] ?? '', at: atB });
    for (const end = run.a + run.length; atA < end; atA++)
      lines.push({ first: a[atA] ?? '', second: b[atB++] ?? '', at: atA });
  }
  return lines;
}

/** The text's lines without blank ones and without white space at their ends. */
function bare(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trimEnd() || []);
}

/** A heading, and as many lines below it as have room. */
function section(heading: string, lines: readonly string[]): string[] {
  const shown: string[] = [];
  let room = SECTION_LENGTH;
  for (const line of lines) {
    const short = shortened(line);
    if (short.length >= room) break;
    room -= short.length + 1;
    shown.push(short);
  }
  const left = lines.length - shown.length;
  return [heading, ...shown, ...(left > 0 ? [`[... ${left} more]`] : [])];
}

function shortened(line: string): string {
  if (line.length <= LINE_LENGTH) return line;
  // No character is cut in two.
  return `${line.slice(0, LINE_LENGTH).replace(/[\ud800-\udbff]$/, '')} [...]`;
}

function linesIn(text: string): string {
  return counted(bare(text).length, 'line');
}
