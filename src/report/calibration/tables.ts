// A calibration as tables: by domain, damages by domains and by dimensions, the known order, and what canaries buy.

import {
  type Calibration,
  type CalibrationPart,
  decidingP,
  EQUIVALENT_POINTS,
  type Loss,
  type Sight,
  type Step,
  type VariantFacts,
} from '../../calibration.js';
import { percent } from '../../coverage.js';
import { domainName } from '../../domains.js';
import { besideLimit } from '../../figures.js';
import { pointsText, signedPoints } from '../../judge-trust.js';
import { oneLine } from '../../printable.js';
import { DIMENSIONS, type Estimate, LEAST_CLUSTERS } from '../../types.js';
import { type Column, dimensionName, NONE, type Table } from '../table.js';

/** Longest name of a variant that is shown whole. */
const NAME_COLUMNS = 18;

/** A table of a calibration. */
type CalibrationTable = Table & {
  /** How to read any table like this one. */
  readonly legend: readonly string[];
  /** Which cells stand out. */
  isStrong?(group: number, row: number, column: number): boolean;
};

function left(heading: string): Column {
  return { heading, short: heading, align: 'left' };
}

function right(heading: string, short = heading): Column {
  return { heading, short, align: 'right' };
}

/** What there is to say of each domain, and of all. */
export function domainTable({ overall, domains }: Calibration): CalibrationTable {
  const line = (name: string, part: CalibrationPart) => [
    name,
    String(part.rows),
    String(part.trajectories),
    points(part.ceiling),
    interval(part.ceiling),
    points(part.floor),
    penaltyCell(part),
    part.noise === undefined ? NONE : pointsText(part.noise.sd),
    blindCell(part),
    part.gullibility === undefined ? NONE : signedPoints(part.gullibility.gain.value),
  ];
  return {
    columns: [
      left('Domain'),
      right('Rows'),
      right('Trajectories', 'Traj.'),
      right('Ceiling'),
      right('95 %'),
      right('Floor'),
      right('Penalty'),
      right('Noise'),
      right('Blind'),
      right('Gullible', 'Gull.'),
    ],
    groups: [
      domains.map((part) => line(domainName(part.domain), part)),
      [line(domains.length === 1 ? 'All rows' : `All ${domains.length} domains`, overall)],
    ],
    footnotes: [],
    legend: [
      "Ceiling: mean score of neutral rewrites of the truth. Floor: mean score of another row's truth. Penalty: what a rewrite costs against the truth of its row; = none (less than 3 points), ! some, ? undecided. Noise: SD of judgements of one prediction. Blind: damages that are not seen, plus those that are undecided (?), of those judged. Gullible: what the best trick buys.",
    ],
  };
}

function penaltyCell({ falsePenalty }: CalibrationPart): string {
  if (falsePenalty === undefined) return NONE;
  const { cost, isNone } = falsePenalty;
  return `${signedPoints(cost.value)} ${isNone === undefined ? '?' : isNone ? '=' : '!'}`;
}

/** `2/14`; with undecided ones `2+3?/14`. */
function blindCell({ losses }: CalibrationPart): string {
  if (losses.length === 0) return NONE;
  const countOf = (wanted: Sight) => losses.filter(({ sight }) => sight === wanted).length;
  const undecided = countOf('undecided');
  return `${countOf('blind')}${undecided === 0 ? '' : `+${undecided}?`}/${losses.length}`;
}

/** Points lost by each damage in each domain, and whether that is seen; undefined where no damage was judged. */
export function sightTable({ overall, domains }: Calibration): CalibrationTable | undefined {
  if (overall.losses.length === 0) return undefined;
  const parts: readonly CalibrationPart[] = [...domains, overall];
  return {
    columns: [
      left('Damage'),
      ...domains.map(({ domain }) => right(domainName(domain), domainName(domain).slice(0, 5))),
      right('All'),
    ],
    groups: grouped(overall.losses, ({ variant }) => [
      variantName(variant),
      ...parts.map((part) => sightCell(part.losses.find((loss) => loss.variant.name === variant.name))),
    ]),
    footnotes: [],
    legend: [
      `Damage by domain: points lost against the truth of the row. A bare number is seen: its 95 % interval lies above ${EQUIVALENT_POINTS} points. blind: the interval lies below. (In parentheses): the interval holds ${EQUIVALENT_POINTS} points, or there are fewer than ${LEAST_CLUSTERS} trajectories.`,
    ],
  };
}

function sightCell(loss: Loss | undefined): string {
  if (loss === undefined) return NONE;
  const text = pointsText(loss.loss.value);
  return { seen: text, blind: 'blind', undecided: `(${text})` }[loss.sight];
}

/** Doses and the known order stand apart from the other damages. */
function grouped(losses: readonly Loss[], line: (loss: Loss) => string[]): string[][][] {
  const families = ['dose', 'order', 'single', 'baseline'];
  return families
    .map((family) => losses.filter(({ variant }) => variant.family === family).map(line))
    .filter((lines) => lines.length > 0);
}

/** Which dimension each damage moves, over all rows; undefined where no damage was judged. */
export function dimensionTable({ losses }: CalibrationPart): CalibrationTable | undefined {
  if (losses.length === 0) return undefined;
  const groups = grouped(losses, ({ variant, loss, dimensions }) => [
    variantName(variant),
    String(loss.rows),
    points(loss),
    interval(loss, EQUIVALENT_POINTS),
    ...DIMENSIONS.map((dimension) => movedCell(dimensions[dimension])),
  ]);
  const most = new Map(losses.map((loss) => [variantName(loss.variant), loss.most]));
  const before = 4;
  return {
    columns: [
      left('Damage'),
      right('Rows'),
      right('Lost'),
      right('95 %'),
      ...DIMENSIONS.map((dimension) => right(dimensionName(dimension), `${dimensionName(dimension).slice(0, 4)}.`)),
    ],
    groups,
    isStrong: (group, row, column) => {
      const dimension = most.get(groups[group]?.[row]?.[0] ?? '');
      return dimension !== undefined && DIMENSIONS.indexOf(dimension) === column - before;
    },
    footnotes: [],
    legend: [
      'Damage by dimension: (in parentheses) the 95 % interval holds 0, so the dimension may not have moved. What stands out lost more than each other dimension did, by the intervals of their paired differences; where nothing does, the dimensions overlap and none is to blame.',
    ],
  };
}

function movedCell(estimate: Estimate | undefined): string {
  if (estimate === undefined) return NONE;
  const { value, low, high } = estimate;
  const hasMoved = low !== undefined && high !== undefined && (low > 0 || high < 0);
  return hasMoved ? pointsText(value) : `(${pointsText(value)})`;
}

/** The known order, step by step; undefined where no step was judged. */
export function stepTable({ overall: { steps }, domains }: Calibration): CalibrationTable | undefined {
  if (steps.length === 0) return undefined;
  return {
    columns: [
      left('Better > worse'),
      right('Rows'),
      right('Apart'),
      right('95 %'),
      right('Inverted'),
      right('p'),
      left('Order'),
    ],
    groups: [steps.map(stepLine)],
    isStrong: (_, row, column) => column === 6 && steps[row]?.order === 'inverted',
    footnotes: inversionsNote(domains),
    legend: [
      'Better > worse: inverted is the share of rows in which the worse one is rated higher. p is one-sided and adjusted by Holm over all steps; the order is kept or inverted where the p of its side is at most 0.025.',
    ],
  };
}

/** In which domains which step is inverted. */
function inversionsNote(domains: Calibration['domains']): string[] {
  const found = domains.flatMap(({ domain, steps }) =>
    steps.filter(({ order }) => order === 'inverted').map((step) => `${domainName(domain)} ${stepName(step)}`),
  );
  return found.length === 0 ? [] : [`Inverted in a domain: ${found.join('; ')}.`];
}

function stepName({ better, worse }: Step): string {
  return `${variantName(better)} > ${variantName(worse)}`;
}

function stepLine(step: Step): string[] {
  const { difference, inverted, order } = step;
  const p = decidingP(step);
  return [
    stepName(step),
    String(difference.rows),
    signedPoints(difference.value),
    interval(difference),
    percent(inverted),
    p === undefined ? NONE : p < 0.001 ? '<0.001' : p.toFixed(3),
    order,
  ];
}

/** What each canary buys; undefined where none was judged. */
export function canaryTable({ canaries, gullibility }: CalibrationPart): CalibrationTable | undefined {
  if (canaries.length === 0) return undefined;
  return {
    columns: [left('Trick'), right('Rows'), right('Buys'), right('95 %'), left('What it is')],
    groups: [
      canaries.map(({ variant, gain }) => [
        variantName(variant),
        String(gain.rows),
        signedPoints(gain.value),
        interval(gain, 0),
        oneLine(variant.help, 38),
      ]),
    ],
    isStrong: (_, row, column) => column === 2 && (canaries[row]?.gain.low ?? 0) > 0,
    footnotes: mostText(gullibility),
    legend: ['Trick: points above the same bad prediction without the trick; what stands out lies above 0.'],
  };
}

function mostText(gullibility: CalibrationPart['gullibility']): string[] {
  if (gullibility?.gain.low === undefined) return [];
  const { variant, gain } = gullibility;
  return [`${variantName(variant)} buys most, by an interval that holds for all at once: ${interval(gain, 0)}.`];
}

function variantName({ name }: VariantFacts): string {
  return oneLine(name, NAME_COLUMNS);
}

function points(estimate: Estimate | undefined): string {
  return estimate === undefined ? NONE : pointsText(estimate.value);
}

/** @param limit by the side of which the interval decides, where it does */
function interval(estimate: Pick<Estimate, 'low' | 'high'> | undefined, limit?: number): string {
  if (estimate?.low === undefined || estimate.high === undefined) return NONE;
  const end = (value: number) => (limit === undefined ? pointsText(value) : besideLimit(value, limit, pointsText));
  return `${end(estimate.low)}–${end(estimate.high)}`;
}
