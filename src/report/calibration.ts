// A calibration as text for a terminal: the judge in one line, then its tables, its noise and its limits.

import { decidingP, EQUIVALENT_POINTS } from '../core/calibration.js';
import type { EstimateDocument } from '../core/document.js';
import { domainName } from '../core/domains.js';
import { countBy } from '../core/groups.js';
import { besideLimit, counted, intervalText, oneLine, printable, twoDecimals } from '../core/printable.js';
import { type Cell, type CellTable, columnsOf, dimensionName, NONE } from '../core/table.js';
import { blocksText, bold, type Look, painted, terminal, wrapped } from '../core/terminal.js';
import { DIMENSIONS, LEAST_CLUSTERS } from '../core/types.js';
import { helpOf } from '../judge/calibrate/variants.js';
import type { Calibration, CalibrationDocument, CalibrationPart, Loss, Step } from '../stats/calibration/document.js';
import { percent } from '../stats/coverage.js';
import { pointsText, signedPoints } from './trust.js';

/** The minimal legend, without which the tables cannot be read. */
const LEGEND =
  'Corruption: seen by the judge (plain number), not seen (blind) or undecided (in parentheses). --explain shows how to read this.';

/** The calibration as text that ends in a line feed: whether the judge can be used, its figures, and how to read them. */
export function calibrationText(calibration: CalibrationDocument, look: Look): string {
  const { overall, domains, verdict, trust, limits, notes } = calibration;
  const tables = [
    domainTable(calibration),
    sightTable(calibration),
    corruptionTable(overall),
    stepTable(overall, domains),
    attackTable(overall),
  ].filter(({ groups }) => groups.some((rows) => rows.length > 0));
  const text = (line: string) => wrapped(line, look.columns);
  const item = (line: string) => wrapped(`- ${printable(line)}`, look.columns, 2);
  const [words, color] = VERDICTS[limits?.verdict ?? 'undecided'];
  const held = limits === null ? [] : [`${words}: ${counted(limits.results.length, 'limit')} for the judge`];
  return blocksText([
    text(verdict.sentence).map((line) => painted(line, COLORS[verdict.use], look)),
    [...text(trust.line).map((line) => bold(line, look)), ...text(titleOf(calibration)), ...text(countsOf(overall))],
    ...tables.map((table) => [terminal(shortened(table), look).trimEnd()]),
    noiseText(overall).flatMap(text),
    notes.flatMap(item),
    [
      ...held.map((line) => painted(line, color, look)),
      ...(limits?.results ?? []).flatMap(({ sentence }) => item(sentence)),
    ],
    (look.explain ? tables.map(({ reading }) => reading) : [LEGEND]).flatMap(text),
  ]);
}

function titleOf({ judge_model, rubric_pack, verdicts, sampling, source }: CalibrationDocument): string {
  const parts = [judge_model, `rubrics ${rubric_pack}`, `${verdicts} verdicts`, sampling, source];
  return oneLine(parts.filter((part) => part !== '').join(', '), 400);
}

function countsOf({ judged, failed, failures, rows, trajectories }: CalibrationPart): string {
  const classes = Object.entries(failures).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  const without = failed === 0 ? '' : `; ${failed} without a rating (${classes.join(', ')})`;
  const of = `${counted(rows, 'row')} in ${counted(trajectories, 'trajectory', 'trajectories')}`;
  return `${counted(judged, 'judgement')} of ${of}${without}`;
}

function noiseText({ noise, smallest_difference: smallest }: CalibrationPart): string[] {
  if (noise === null || noise.high === null) return [];
  const from = `${counted(noise.judgements, 'judgement')} of ${counted(noise.predictions, 'prediction')}`;
  const sentence = `Noise: judgements of one prediction have an SD of ${pointsText(noise.sd)} points (${intervalText(noise, pointsText)}; ${from}).`;
  if (smallest === null) return [sentence];
  return [
    `${sentence} Two runs over the 2,170 rows must differ by ${twoDecimals(smallest)} points of Overall to be distinguishable (5 %, two-sided, power 80 %). That covers only the judge's noise; rows and sampling add to it.`,
  ];
}

const [GOOD, OPEN, BAD] = ['\x1b[1;32m', '\x1b[1;33m', '\x1b[1;31m'];
const COLORS = { good: GOOD, 'with care': OPEN, 'do not use': BAD };
const VERDICTS = { holds: ['PASSED', GOOD], undecided: ['UNDECIDED', OPEN], broken: ['NOT PASSED', BAD] } as const;

/** Longest name of a variant that is not shortened. */
const NAME_COLUMNS = 18;

/** A table of a calibration, for terminals and pages, with a text on how to read it. */
interface CalibrationTable extends CellTable {
  readonly reading: string;
}

/** Longest text of a cell in a terminal. */
const CELL_COLUMNS = 38;

/** A table with its texts shortened to fit a terminal. */
function shortened(table: CalibrationTable): CalibrationTable {
  const short = (cell: Cell) => (typeof cell === 'string' ? oneLine(cell, CELL_COLUMNS) : cell);
  return { ...table, groups: table.groups.map((rows) => rows.map((cells) => cells.map(short))) };
}

/** The main figures of each domain, and of all. */
export function domainTable({ overall, domains }: Calibration): CalibrationTable {
  const line = (name: string, part: CalibrationPart) => [
    name,
    String(part.rows),
    String(part.trajectories),
    pointsCell(part.ceiling?.value),
    interval(part.ceiling),
    pointsCell(part.floor?.value),
    penaltyCell(part),
    pointsCell(part.noise?.sd),
    blindCell(part),
    part.attack_gain === null ? NONE : signedPoints(part.attack_gain.value),
  ];
  const lines = Object.entries(domains).map(([domain, part]) => line(domainName(domain), part));
  return {
    columns: columnsOf(
      '<Domain, Rows, Trajectories|Traj., Ceiling, 95 %, Floor, Penalty, Noise, Blind, Attack gain|Gain',
    ),
    groups: [lines, [line(lines.length === 1 ? 'All rows' : `All ${lines.length} domains`, overall)]],
    reading:
      "Ceiling: mean score of neutral rewrites of the truth. Floor: mean score of another row's truth. Penalty: points that a rewrite loses against the truth of its row; = none (less than 3 points), ! some, ? undecided. Noise: SD of judgements of one prediction. Blind: corruptions not seen, plus undecided ones (?), of those judged. Attack gain: the largest gain of any attack.",
  };
}

function penaltyCell({ false_penalty: cost }: CalibrationPart): string {
  if (cost === null) return NONE;
  return `${signedPoints(cost.value)} ${cost.is_none === null ? '?' : cost.is_none ? '=' : '!'}`;
}

/** `2/14`; with undecided ones `2+3?/14`. */
function blindCell({ losses }: CalibrationPart): string {
  if (losses.length === 0) return NONE;
  const { blind = 0, undecided = 0 } = countBy(losses, ({ sight }) => sight);
  return `${blind}${undecided === 0 ? '' : `+${undecided}?`}/${losses.length}`;
}

/** Points lost to each corruption in each domain, and whether the judge sees it. */
function sightTable({ overall, domains }: Calibration): CalibrationTable {
  const parts = [...Object.values(domains), overall];
  return {
    columns: [
      ...columnsOf('<Corruption'),
      ...Object.keys(domains).map((domain) => ({
        heading: domainName(domain),
        short: domainName(domain).slice(0, 5),
        align: 'right' as const,
      })),
      ...columnsOf('All'),
    ],
    groups: grouped(overall.losses, ({ variant }) => [
      variantName(variant),
      ...parts.map((part) => sightCell(part.losses.find((loss) => loss.variant === variant))),
    ]),
    reading: `Corruption by domain: points lost against the truth of the row. A plain number: seen, since its 95 % interval is above ${EQUIVALENT_POINTS} points. blind: the interval is below. (In parentheses): the interval contains ${EQUIVALENT_POINTS} points, or there are fewer than ${LEAST_CLUSTERS} trajectories.`,
  };
}

function sightCell(loss: Loss | undefined): string {
  if (loss === undefined) return NONE;
  const text = pointsText(loss.value);
  return { seen: text, blind: 'blind', undecided: `(${text})` }[loss.sight];
}

/** Groups losses by family, so that doses and the known order are separate from other corruptions. */
function grouped(losses: readonly Loss[], line: (loss: Loss) => Cell[]): Cell[][][] {
  return ['dose', 'order', 'single', 'baseline'].flatMap((family) => {
    const lines = losses.filter((loss) => loss.family === family).map(line);
    return lines.length === 0 ? [] : [lines];
  });
}

const LOOKS = { seen: 'good', kept: 'good', blind: 'bad', inverted: 'bad', undecided: 'soft' } as const;

/** The points lost to each corruption, in total and by dimension. */
export function corruptionTable({ losses }: CalibrationPart): CalibrationTable {
  const names = DIMENSIONS.map(dimensionName).map((name) => `${name}|${name.slice(0, 4)}.`);
  return {
    columns: columnsOf(`<Corruption, Rows, Lost, 95 %, ${names.join(', ')}`),
    groups: grouped(losses, (loss) => [
      { text: variantName(loss.variant), under: [helpOf(loss.variant)].filter(Boolean) },
      String(loss.rows),
      { text: pointsText(loss.value), under: [loss.sight], look: LOOKS[loss.sight] },
      interval(loss, EQUIVALENT_POINTS),
      ...DIMENSIONS.map((name) => movedCell(loss.dimensions[name], loss.most === name)),
    ]),
    reading: `Corruption by dimension: points lost against the truth of the row; seen if the 95 % interval is above ${EQUIVALENT_POINTS} points, blind if it is below, else undecided. (In parentheses): the interval of the dimension contains 0, so the dimension may not have moved. A highlighted dimension lost more than every other, by the intervals of their paired differences; if none is highlighted, they overlap.`,
  };
}

function movedCell(loss: EstimateDocument | undefined, isMost: boolean): Cell {
  const { text, under } = lostCell(loss);
  const { low = null, high = null } = loss ?? {};
  const hasMoved = low !== null && high !== null && (low > 0 || high < 0);
  if (loss === undefined || !hasMoved) return { text: loss === undefined ? text : `(${text})`, under };
  return { text, under, look: 'moved', isStrong: isMost };
}

/** Points lost; on a page, with their interval below. */
export function lostCell(loss: EstimateDocument | undefined) {
  return { text: pointsCell(loss?.value), under: loss === undefined ? [] : [interval(loss)] };
}

function pointsCell(value: number | undefined): string {
  return value === undefined ? NONE : pointsText(value);
}

/** The steps of the known order, and the domains in which a step is inverted. */
export function stepTable({ steps }: CalibrationPart, domains: Calibration['domains'] = {}): CalibrationTable {
  const nameOf = ({ better, worse }: Step) => `${variantName(better)} > ${variantName(worse)}`;
  const inverted = Object.entries(domains).flatMap(([domain, part]) =>
    part.steps.filter(({ order }) => order === 'inverted').map((step) => `${domainName(domain)} ${nameOf(step)}`),
  );
  const line = (step: Step) => {
    const p = decidingP(step);
    const chance = p === null ? NONE : p < 0.001 ? '<0.001' : p.toFixed(3);
    const apart = [String(step.rows), signedPoints(step.value), interval(step), percent(step.inverted)];
    return [
      nameOf(step),
      ...apart,
      chance,
      { text: step.order, look: LOOKS[step.order], isStrong: step.order === 'inverted' },
    ];
  };
  return {
    columns: columnsOf('<Better > worse, Rows, Gap, 95 %, Inverted, p, <Order'),
    groups: [steps.map(line)],
    footnotes: inverted.length === 0 ? [] : [`Inverted in a domain: ${inverted.join('; ')}.`],
    reading:
      'Better > worse: inverted is the share of rows in which the worse one is rated higher. p is one-sided and adjusted by Holm over all steps; the order is kept or inverted if the p of its side is at most 0.025.',
  };
}

/** The gain of each attack. */
export function attackTable({ attacks, attack_gain: most }: CalibrationPart): CalibrationTable {
  return {
    columns: columnsOf('<Attack, Rows, Gain, 95 %, <What it is'),
    groups: [
      attacks.map((gain) => [
        variantName(gain.variant),
        String(gain.rows),
        { text: signedPoints(gain.value), isStrong: (gain.low ?? 0) > 0 },
        interval(gain, 0),
        helpOf(gain.variant),
      ]),
    ],
    footnotes:
      most === null || most.low === null
        ? []
        : [`${variantName(most.variant)} gains most; interval valid for all attacks at once: ${interval(most, 0)}.`],
    reading: 'Gain: points above the same bad prediction without the attack; highlighted if the interval is above 0.',
  };
}

function variantName(name: string): string {
  return oneLine(name, NAME_COLUMNS);
}

/** @param limit the value that the interval is compared with, if any */
function interval(estimate: EstimateDocument | null, limit?: number): string {
  if (estimate === null || estimate.low === null || estimate.high === null) return NONE;
  const end = (value: number) => (limit === undefined ? pointsText(value) : besideLimit(value, limit, pointsText));
  return `${end(estimate.low)}–${end(estimate.high)}`;
}
