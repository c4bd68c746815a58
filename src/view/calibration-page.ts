// The page of a calibration: what a judge can and cannot see, with its verdict and limits, dose curves, corruptions, known order, attacks
// and scores, over all rows and by domain.

import { EQUIVALENT_POINTS } from '../core/calibration.js';
import { domainName } from '../core/domains.js';
import { attackTable, corruptionTable, domainTable, lostCell, stepTable } from '../report/calibration.js';
import type { CalibrationDocument, CalibrationPart, LimitVerdict, Sight } from '../stats/calibration/document.js';
import type { Cell, KeyFigure, Page, PageBlock } from './documents.js';
import { count, DASH, figureColumns, number, plural, rangeBelow, scoreChart, signed, withNotes } from './figures.js';

const DOSE_NOTE = `Points that a prediction loses, compared with the truth, as more of the determined facts are corrupted. Bands are 95 % intervals, clustered by trajectory; a loss below the dashed line at ${EQUIVALENT_POINTS} points counts as none.`;
const USES = { good: 'good', 'with care': 'soft', 'do not use': 'bad' } as const;
const VERDICTS: Readonly<Record<LimitVerdict, Cell>> = {
  holds: { text: 'Limits: ✓ Passed', look: 'good' },
  broken: { text: 'Limits: ✗ Not passed', look: 'bad' },
  undecided: { text: 'Limits: ? Undecided', look: 'soft' },
};

/** Names of judges, domains and variants may be hostile. */
export function calibrationPage(calibration: CalibrationDocument): Page {
  const { judge_model, rubric_pack, verdicts, sampling, source, verdict, limits, notes } = calibration;
  const { overall, domains } = calibration;
  const byDomain = domainTable(calibration);
  return {
    title: judge_model,
    facts: [
      ['rubrics', rubric_pack],
      ['verdicts', verdicts],
      ['sampling', sampling],
      ['judgements', source],
    ],
    lines: ['Calibration of a judge'],
    outcome: { text: verdict.sentence, look: USES[verdict.use] },
    said: limits === null ? [] : [VERDICTS[limits.verdict]],
    reasons: (limits?.results ?? []).map(({ sentence }) => sentence),
    figures: keyFigures(overall),
    notes,
    blocks: [
      ...dosesBlock(calibration),
      ...blocksOf(overall, domains),
      ...(overall.scores.length === 0 ? [] : [scoresBlock(overall)]),
      {
        title: 'Domains',
        note: byDomain.reading,
        tables: [withNotes(byDomain)],
        folds: Object.entries(domains).map(([domain, part]) => ({
          title: domainName(domain),
          about: [`blind to ${countOf(part, 'blind')} of ${plural(part.losses.length, 'corruption')}`],
          blocks: blocksOf(part).map(({ note: _, ...block }) => block),
        })),
      },
    ],
  };
}

function keyFigures(part: CalibrationPart): KeyFigure[] {
  const { ceiling, floor, false_penalty: penalty, noise, smallest_difference: smallest, attack_gain } = part;
  const undecided = countOf(part, 'undecided');
  const meaning = penalty?.is_none == null ? 'undecided' : penalty.is_none ? 'negligible' : 'not negligible';
  const figures: (KeyFigure | null)[] = [
    { title: 'Ceiling', figure: number(ceiling), under: [rangeBelow(ceiling), 'neutral rewrites'] },
    { title: 'Floor', figure: number(floor), under: [rangeBelow(floor), 'another row’s truth'] },
    penalty && {
      title: 'False penalty',
      figure: signed(penalty.value),
      under: [rangeBelow(penalty, signed), meaning],
    },
    {
      title: 'Noise per row',
      figure: noise?.sd.toFixed(1) ?? DASH,
      under: [
        noise === null ? 'nothing was judged twice' : rangeBelow(noise),
        ...(smallest === null ? [] : [`detectable over 2,170 rows: ${smallest.toFixed(1)} points`]),
      ],
    },
    {
      title: 'Blind to',
      figure: `${countOf(part, 'blind')} of ${part.losses.length}`,
      under: [`corruptions${undecided === 0 ? '' : `, ${undecided} undecided`}`],
    },
    attack_gain && {
      title: 'Attack gain',
      figure: signed(attack_gain.value),
      under: [rangeBelow(attack_gain, signed), `${attack_gain.variant}, the strongest attack`],
    },
    {
      title: 'Judgements',
      figure: count(part.judged),
      under: [
        `${plural(part.rows, 'row')}, ${plural(part.trajectories, 'trajectory', 'trajectories')}`,
        ...(part.failed > 0 ? [`${count(part.failed)} failed`] : []),
      ],
    },
  ];
  return figures.filter((figure) => figure !== null);
}

/** The number of corruptions that the judge sees this way. */
function countOf({ losses }: CalibrationPart, wanted: Sight): number {
  return losses.filter(({ sight }) => sight === wanted).length;
}

/** Points lost as more of the determined facts are corrupted: a drawing for all rows and each domain, and the figures as a table. */
function dosesBlock({ overall, domains }: CalibrationDocument): PageBlock[] {
  const dosed = ({ losses }: CalibrationPart) =>
    losses
      .flatMap((loss) => (loss.dose === null ? [] : [{ ...loss, dose: loss.dose }]))
      .sort((a, b) => a.dose - b.dose);
  const all = { name: 'All', losses: dosed(overall), isSum: true };
  const ofDomains = Object.entries(domains).map(([domain, part]) => ({
    name: domainName(domain),
    losses: dosed(part),
    isSum: false,
  }));
  const parts = [all, ...ofDomains].filter(({ losses }) => losses.length > 0);
  const doses = [...new Set(parts.flatMap(({ losses }) => losses.map(({ dose }) => dose)))].sort((a, b) => a - b);
  if (doses.length === 0) return [];
  const rowsOf = (of: readonly (typeof all)[]) =>
    of
      .filter((part) => parts.includes(part))
      .map(({ name, losses }) => [name, ...doses.map((dose) => lostCell(losses.find((loss) => loss.dose === dose)))]);
  const origin = { at: 0, label: '', figure: { value: 0, low: 0, high: 0 } };
  return [
    {
      title: 'Points lost by dose',
      note: DOSE_NOTE,
      curves: {
        ends: [null, null],
        least: [10],
        limit: EQUIVALENT_POINTS,
        curves: parts.map(({ name, losses, isSum }) => {
          const most = Math.max(...losses.map(({ dose }) => dose));
          const points = losses.map((figure) => ({ at: figure.dose / most, label: shareText(figure.dose), figure }));
          return { name, isSum, points: [origin, ...points] };
        }),
      },
      tables: [
        {
          columns: figureColumns(['Points lost at a dose of', ...doses.map(shareText)]),
          groups: [rowsOf(ofDomains), rowsOf([all])],
        },
      ],
    },
  ];
}

/** `1/8`, `2/3`; any other share in percent. */
function shareText(share: number): string {
  const whole = [2, 3, 4, 5, 6, 7, 8, 9, 10].find((each) => Math.abs(share * each - Math.round(share * each)) < 1e-9);
  return whole === undefined ? `${Number((share * 100).toFixed(1))} %` : `${Math.round(share * whole)}/${whole}`;
}

/** The blocks for all rows, or for a domain's; those without judgements are left out. */
function blocksOf(part: CalibrationPart, domains?: CalibrationDocument['domains']): PageBlock[] {
  const blocks = [
    { title: 'Corruptions', table: corruptionTable(part) },
    { title: 'Known order', table: stepTable(part, domains), drawn: part.steps },
    { title: 'Attacks', table: attackTable(part), drawn: part.attacks },
  ];
  return blocks.flatMap(({ title, table, drawn }) => {
    const rows = table.groups.flat();
    const drawings = drawn && { ends: 'around 0' as const, figures: drawn };
    const columns = table.columns.map((column, at) => ({ ...column, isWide: drawn !== undefined && at > 3 }));
    const shown = { columns, groups: [rows], footnotes: table.footnotes, ...(drawings && { drawings }) };
    return rows.length === 0 ? [] : [{ title, note: table.reading, tables: [shown] }];
  });
}

function scoresBlock({ scores }: CalibrationPart): PageBlock {
  const lines = scores.map((figure) => ({ name: figure.variant, figure }));
  return {
    title: 'Scores',
    note: "The judge's mean score for every kind of prediction, from 0 to 100.",
    tables: [scoreChart('Prediction', [0, 100], lines)],
  };
}
