// The page of a calibration: what a judge can and cannot see, in one file that asks for nothing and runs nothing.

import { EQUIVALENT_POINTS } from '../core/calibration.js';
import type { EstimateDocument } from '../core/document.js';
import { domainName } from '../core/domains.js';
import { DEFAULT_MEASURE } from '../core/measures.js';
import { dimensionName } from '../core/table.js';
import { DIMENSIONS } from '../core/types.js';
import { helpOf } from '../judge/calibrate/variants.js';
import { decidingP } from '../stats/calibration/calibration.js';
import type {
  Calibration,
  CalibrationDocument,
  CalibrationPart,
  LimitVerdict,
  Loss,
  Sight,
  Step,
} from '../stats/calibration/document.js';
import { notesOn } from '../stats/calibration/limits.js';
import { differenceChart, intervalChart, scaleOf } from './charts.js';
import { curves } from './curves.js';
import { type Child, html, type Markup, pageOf, type Sha256, table } from './html.js';
import {
  block,
  count,
  DASH,
  factSpans,
  header,
  type KeyFigure,
  number,
  range,
  signed,
  signedRange,
  tableOf,
  underFigure,
  withRange,
} from './parts.js';

/**
 * The page. Names of judges, domains and variants may be hostile.
 * @param tool name and version of the program
 */
export function calibrationPage(calibration: CalibrationDocument, tool: string, sha256: Sha256): string {
  const { overall, judge_model: judge } = calibration;
  const main = [
    calibrationHead(calibration),
    block('Points lost by dose', DOSE_NOTE, doseCurves(calibration)),
    block('Damages', MATRIX_NOTE, damageMatrix(overall)),
    block(
      'Known order',
      'Pairs of which the first is better by construction, as the judge rates them on the same rows. Inverted: the share of rows in which it rates the worse one higher. p is one-sided, adjusted over all steps (Holm). An order is kept or inverted where the rows show it, else undecided.',
      stepChart(overall),
    ),
    block(
      'Tricks',
      'Points that a trick buys on top of the same bad prediction. Where the line lies to the right of 0, the judge can be talked round.',
      canaryChart(overall),
    ),
    block('Scores', 'What the judge gives to every kind of prediction, from 0 to 100.', scoreChart(overall)),
    block(
      'Domains',
      'The same figures domain by domain. Intervals of a domain are wide where it has few trajectories; without enough of them there is none.',
      domainTable(calibration),
    ),
    domainFolds(calibration),
  ];
  return pageOf({ title: `${judge}: calibration`, main, tool }, sha256);
}

const DOSE_NOTE = `How many points a prediction loses against the truth as more of what is determined is damaged. Bands are 95 % intervals, clustered by trajectory; up to the dashed line, at ${EQUIVALENT_POINTS} points, a loss counts as none.`;
const MATRIX_NOTE = `Points that each damage costs in all and by dimension, its 95 % interval below. Seen: the interval lies above ${EQUIVALENT_POINTS} points; blind: below; undecided: it holds ${EQUIVALENT_POINTS}. In colour: the dimension moved, its interval does not hold 0. Bold: it lost more than each other one, by the intervals of the paired differences; where none is bold, no dimension alone is to blame.`;
const VERDICTS: Readonly<Record<LimitVerdict, readonly [words: string, look: string]>> = {
  holds: ['Passed', 'good'],
  broken: ['Not passed', 'bad'],
  undecided: ['Undecided', 'soft'],
};
const LOOKS: Readonly<Record<Sight | Step['order'], string>> = {
  seen: 'good',
  kept: 'good',
  blind: 'bad',
  inverted: 'bad',
  undecided: 'soft',
};

function word(said: keyof typeof LOOKS): Markup {
  return html`<span class="${LOOKS[said]}">${said}</span>`;
}

/** Which judge, under what, and its key figures. */
function calibrationHead(calibration: CalibrationDocument): Markup {
  const { limits, overall } = calibration;
  const warnings = notesOn(calibration);
  const facts = [
    html`<span>calibration of a judge</span>`,
    factSpans([
      ['rubrics', calibration.rubric_pack],
      ['verdicts', calibration.verdicts],
      ['sampling', calibration.sampling],
      ['judgements', calibration.source],
    ]),
  ];
  const sentences = [
    ...(limits?.results ?? []).map(({ sentence }) => sentence),
    ...calibration.notes.slice(warnings.length),
  ].map((text) => html`<li>${text}</li>`);
  const [words, look] = limits === null ? [] : VERDICTS[limits.verdict];
  const below = html`${words && html`<p class="limits"><b class="${look}">${words}</b></p>`}${sentences.length > 0 && html`<ul class="notes">${sentences}</ul>`}`;
  return header(calibration.judge_model, facts, warnings, keyFigures(overall), below);
}

function keyFigures(part: CalibrationPart): (KeyFigure | null)[] {
  const { ceiling, floor, false_penalty: penalty, noise, smallest_difference: smallest, gullibility } = part;
  const { blind, undecided, all } = sightCounts(part);
  const meaning =
    penalty?.is_none == null ? 'cannot be said to be none' : penalty.is_none ? 'as good as none' : 'not none';
  return [
    ['Ceiling', number(ceiling), underFigure(range(ceiling)), 'neutral rewrites'],
    ['Floor', number(floor), underFigure(range(floor)), 'another row’s truth'],
    penalty && ['False penalty', signed(penalty), underFigure(signedRange(penalty)), meaning],
    noise === null
      ? ['Noise a row', DASH, 'nothing was judged twice']
      : [
          'Noise a row',
          noise.sd.toFixed(1),
          underFigure(range(noise)),
          smallest !== null && `2,170 rows can show ${smallest.toFixed(1)} points`,
        ],
    [
      'Blind to',
      html`${blind}<small> of ${all}</small>`,
      `damages${undecided === 0 ? '' : `, ${undecided} undecided`}`,
    ],
    gullibility && [
      'Gullible',
      signed(gullibility),
      underFigure(signedRange(gullibility)),
      `${gullibility.variant}, of all tricks`,
    ],
    [
      'Judgements',
      count(part.judged),
      html`${count(part.rows)} rows, ${count(part.trajectories)} trajectories`,
      part.failed > 0 && html`${count(part.failed)} failed`,
    ],
  ];
}

/** How many damages a judge is blind to, of how many. */
function sightCounts({ losses }: CalibrationPart) {
  const of = (wanted: Sight) => losses.filter(({ sight }) => sight === wanted).length;
  return { blind: of('blind'), undecided: of('undecided'), all: losses.length };
}

/** Points lost as more of what is determined is damaged: a drawing for each domain, and the figures as a table. */
function doseCurves({ overall, domains }: Calibration): Markup | undefined {
  const dosed = ({ losses }: CalibrationPart) =>
    losses
      .flatMap((loss) => (loss.dose === null ? [] : [{ ...loss, dose: loss.dose }]))
      .sort((a, b) => a.dose - b.dose);
  const parts = [
    ...Object.entries(domains).map(([domain, part]) => ({
      name: domainName(domain),
      losses: dosed(part),
      isSum: false,
    })),
    { name: 'All', losses: dosed(overall), isSum: true },
  ].filter(({ losses }) => losses.length > 0);
  const all = parts.flatMap(({ losses }) => losses);
  if (all.length === 0) return undefined;
  const origin = { value: 0, low: 0, high: 0 };
  const scale = scaleOf({ range: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY], better: 'neither' }, [
    origin,
    { value: 10 },
    ...all,
  ]);
  const drawn = parts
    .toSorted((a, b) => Number(b.isSum) - Number(a.isSum))
    .map(({ losses, ...part }) => {
      const most = Math.max(...losses.map(({ dose }) => dose));
      const points = losses.map((loss) => ({ at: loss.dose / most, label: shareText(loss.dose), estimate: loss }));
      return { ...part, points: [{ at: 0, label: '', estimate: origin }, ...points] };
    });
  const doses = [...new Set(all.map(({ dose }) => dose))].sort((a, b) => a - b);
  const rows = parts.map(({ name, losses, isSum }) => ({
    cells: [name, ...doses.map((dose) => lossCell(losses.find((loss) => loss.dose === dose)))],
    isSum,
  }));
  const heads = ['Points lost at a dose of', ...doses.map(shareText)];
  return html`${curves(drawn, scale, EQUIVALENT_POINTS)}${table(heads, rows, { look: 'matrix doses' })}`;
}

/** `1/8`, `2/3`; a share that is no such fraction in percent. */
function shareText(share: number): string {
  const whole = [2, 3, 4, 5, 6, 7, 8, 9, 10].find((each) => Math.abs(share * each - Math.round(share * each)) < 1e-9);
  return whole === undefined ? `${Number((share * 100).toFixed(1))} %` : `${Math.round(share * whole)}/${whole}`;
}

/**
 * A loss as a number of points; a gain has its minus.
 * @param tag stands around a dimension that moved
 */
function lossCell(loss: EstimateDocument | undefined, tag?: 'b' | 'span'): Child {
  if (loss === undefined) return DASH;
  const [value, interval] = [signed(loss), signedRange(loss)].map((text) => text?.replaceAll('+', ''));
  const { low, high } = loss;
  const moved = low !== null && high !== null && (low > 0 || high < 0) ? tag : undefined;
  const shown = { b: html`<b class="moved">${value}</b>`, span: html`<span class="moved">${value}</span>` };
  return [
    moved === undefined ? value : shown[moved],
    html`<span class="range under">${interval ?? 'no interval'}</span>`,
  ];
}

/** What each damage costs, which dimensions moved, and whether the judge sees it. */
function damageMatrix({ losses }: CalibrationPart): Markup | undefined {
  const rows = losses.map((loss: Loss) => ({
    cells: [
      variantName(loss.variant),
      word(loss.sight),
      lossCell(loss),
      ...DIMENSIONS.map((name) => lossCell(loss.dimensions[name], loss.most === name ? 'b' : 'span')),
    ],
  }));
  const label = 'Damages by dimensions';
  return tableOf(['Damage', '', 'Lost', ...DIMENSIONS.map(dimensionName)], rows, { look: 'matrix damages', label });
}

function variantName(variant: string): Markup {
  return html`${variant}<small>${helpOf(variant)}</small>`;
}

/** Pairs of predictions of which one is better by construction, and how the judge rates them. */
function stepChart({ steps }: CalibrationPart): Markup | undefined {
  const lines = steps.map((step) => ({
    name: `${step.better} > ${step.worse}`,
    estimate: step,
    cells: [`${(step.inverted * 100).toFixed(1)} %`, chanceText(decidingP(step)), word(step.order)],
  }));
  return differenceChart('Better > worse', ['Difference', 'Inverted', 'p', 'Order'], lines);
}

/** A p below this is written as a bound. */
const LEAST_P = 0.0001;

function chanceText(p: number | null): string {
  return p === null ? DASH : p < LEAST_P ? `<${LEAST_P}` : p.toFixed(4);
}

/** How many points each trick in a prediction buys. */
function canaryChart({ canaries }: CalibrationPart): Markup | undefined {
  const lines = canaries.map((gain) => ({
    name: variantName(gain.variant),
    estimate: gain,
    cells: [count(gain.rows)],
  }));
  return differenceChart('Trick', ['Bought', 'Rows'], lines);
}

function scoreChart({ scores }: CalibrationPart): Markup | undefined {
  const lines = scores.map((estimate) => ({ name: estimate.variant, estimate }));
  return intervalChart('Prediction', lines, DEFAULT_MEASURE);
}

/** A line for each domain, and one for all. */
function domainTable({ overall, domains }: Calibration): Markup {
  const row = (name: string, part: CalibrationPart, isSum: boolean) => {
    const { ceiling, floor, false_penalty: penalty, noise, gullibility } = part;
    const { blind, all } = sightCounts(part);
    return {
      cells: [
        name,
        [count(part.rows), html`<span class="range under">${count(part.trajectories)} trajectories</span>`],
        withRange(number(ceiling), range(ceiling)),
        withRange(number(floor), range(floor)),
        withRange(signed(penalty), signedRange(penalty)),
        noise === null ? DASH : noise.sd.toFixed(1),
        all === 0 ? DASH : `${blind} of ${all}`,
        withRange(signed(gullibility), signedRange(gullibility)),
      ],
      isSum,
    };
  };
  const rows = Object.entries(domains).map(([domain, part]) => row(domainName(domain), part, false));
  const heads = ['Domain', 'Rows', 'Ceiling', 'Floor', 'False penalty', 'Noise', 'Blind to', 'Gullible'];
  return table(heads, [...rows, row('All', overall, true)], { look: 'matrix', label: 'Domains' });
}

/** Damages, order and tricks of each domain. */
function domainFolds({ domains }: Calibration): Child {
  const folds = Object.entries(domains).map(([domain, part]) => {
    const parts = [
      ['Damages', damageMatrix(part)] as const,
      ['Known order', stepChart(part)] as const,
      ['Tricks', canaryChart(part)] as const,
    ].map(([title, body]) => body && html`<h3>${title}</h3>${body}`);
    const { blind, all } = sightCounts(part);
    const said = all > 0 && html`<span class="soft">blind to ${blind} of ${all} damages</span>`;
    return html`<details><summary>${domainName(domain)}${said}</summary>${parts}</details>`;
  });
  return folds.length > 0 && html`<div class="folds">${folds}</div>`;
}
