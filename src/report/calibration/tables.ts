// A calibration as tables: by domain, damages by domains and by dimensions, the known order, and what canaries buy.

import {
  type Calibration,
  type CalibrationPart,
  decidingP,
  type Loss,
  type Sight,
  type Step,
  type VariantFacts,
} from '../../calibration.js';
import { percent } from '../../coverage.js';
import { domainName } from '../../domains.js';
import { pointsText, signedPoints } from '../../judge-trust.js';
import { oneLine } from '../../printable.js';
import { DIMENSIONS, type Estimate, LEAST_CLUSTERS } from '../../types.js';
import { type Column, dimensionName, NONE, type Table } from '../table.js';

/** Longest name of a variant that is shown whole. */
const NAME_COLUMNS = 18;

/** A table of which some cells stand out. */
type MarkedTable = Table & { isStrong(group: number, row: number, column: number): boolean };

function left(heading: string): Column {
  return { heading, short: heading, align: 'left' };
}

function right(heading: string, short = heading): Column {
  return { heading, short, align: 'right' };
}

/** What there is to say of each domain, and of all. */
export function domainTable({ overall, domains }: Calibration): Table {
  const line = (name: string, part: CalibrationPart) => [
    name,
    String(part.rows),
    String(part.trajectories),
    points(part.ceiling),
    interval(part.ceiling),
    points(part.floor),
    penaltyCell(part),
    part.noise === undefined ? NONE : pointsText(part.noise.sd),
    part.losses.length === 0 ? NONE : `${countOf(part, 'blind')}/${part.losses.length}`,
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
    footnotes: [
      "Ceiling: mean score of neutral rewrites of the truth. Floor: of another row's truth. Penalty: what a rewrite costs against the truth of its row; = none (less than 3 points), ! some, ? undecided. Noise: SD of judgements of one prediction. Blind: damages that are not seen, of those judged. Gullible: what the best trick buys.",
    ],
  };
}

function penaltyCell({ falsePenalty }: CalibrationPart): string {
  if (falsePenalty === undefined) return NONE;
  const { cost, isNone } = falsePenalty;
  return `${signedPoints(cost.value)} ${isNone === undefined ? '?' : isNone ? '=' : '!'}`;
}

function countOf({ losses }: CalibrationPart, sight: Sight): number {
  return losses.filter((loss) => loss.sight === sight).length;
}

/** Points lost by each damage in each domain, and whether that is seen; undefined where no damage was judged. */
export function sightTable({ overall, domains }: Calibration): Table | undefined {
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
    footnotes: [
      'Points lost against the mean of the truth and its rewrites. A number is seen: its 95 % interval lies above 3 points. blind: it lies below. (In parentheses): it holds 3 points, or there are fewer than ' +
        `${LEAST_CLUSTERS} trajectories.`,
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
export function dimensionTable({ losses }: CalibrationPart): MarkedTable | undefined {
  if (losses.length === 0) return undefined;
  const groups = grouped(losses, ({ variant, loss, dimensions }) => [
    variantName(variant),
    String(loss.rows),
    points(loss),
    interval(loss),
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
    footnotes: [
      '(In parentheses): the 95 % interval holds 0, so that the dimension may not have moved. What stands out lost more than each other dimension did, by the intervals of their paired differences; where nothing does, the dimensions overlap and none is to blame.',
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
export function stepTable({ overall: { steps }, domains }: Calibration): MarkedTable | undefined {
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
    footnotes: [
      'Inverted: rows in which the worse one is rated higher. p: one-sided, adjusted by Holm over all steps; the order is kept or inverted where that of its side is at most 0.025.',
      inversionsNote(domains),
    ],
  };
}

/** In which domains which step is inverted. */
function inversionsNote(domains: Calibration['domains']): string {
  const found = domains.flatMap(({ domain, steps }) =>
    steps.filter(({ order }) => order === 'inverted').map((step) => `${domainName(domain)} ${stepName(step)}`),
  );
  return found.length === 0 ? 'In no domain is a step inverted.' : `Inverted in a domain: ${found.join('; ')}.`;
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
export function canaryTable({ canaries, gullibility }: CalibrationPart): MarkedTable | undefined {
  if (canaries.length === 0) return undefined;
  return {
    columns: [left('Trick'), right('Rows'), right('Buys'), right('95 %'), left('What it is')],
    groups: [
      canaries.map(({ variant, gain }) => [
        variantName(variant),
        String(gain.rows),
        signedPoints(gain.value),
        interval(gain),
        oneLine(variant.help, 38),
      ]),
    ],
    isStrong: (_, row, column) => column === 2 && (canaries[row]?.gain.low ?? 0) > 0,
    footnotes: [
      `Points above the same bad prediction without the trick; what stands out lies above 0.${mostText(gullibility)}`,
    ],
  };
}

function mostText(gullibility: CalibrationPart['gullibility']): string {
  if (gullibility === undefined) return '';
  const { variant, gain } = gullibility;
  const range = gain.low === undefined ? '' : `, by an interval that holds for all at once: ${interval(gain)}`;
  return ` ${variantName(variant)} buys most${range}.`;
}

function variantName({ name }: VariantFacts): string {
  return oneLine(name, NAME_COLUMNS);
}

function points(estimate: Estimate | undefined): string {
  return estimate === undefined ? NONE : pointsText(estimate.value);
}

function interval(estimate: Pick<Estimate, 'low' | 'high'> | undefined): string {
  if (estimate?.low === undefined || estimate.high === undefined) return NONE;
  return `${pointsText(estimate.low)}–${pointsText(estimate.high)}`;
}
