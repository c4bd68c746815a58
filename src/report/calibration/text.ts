// A calibration as people read it in a terminal: the judge in one line, then its tables, its noise and what it was held to.

import { counted, intervalText, twoDecimals } from '../../figures.js';
import { pointsText } from '../../judge-trust.js';
import { oneLine, printable } from '../../printable.js';
import type { CalibrationDocument, CalibrationPart, LimitVerdict } from '../../score/calibration/document.js';
import { bold, type Look, painted, terminal, wrapped } from '../terminal.js';
import { canaryTable, dimensionTable, domainTable, sightTable, stepTable } from './tables.js';

/** The marks that the tables cannot be read without. */
const LEGEND =
  'Damage: a bare number is seen, blind is not, (in parentheses) is undecided. --explain tells how to read this.';

/** The calibration as text that ends in a line feed: whether the judge can be used, its figures, and how to read them. */
export function calibrationText(calibration: CalibrationDocument, look: Look): string {
  const { overall, verdict, trust } = calibration;
  const tables = [
    domainTable(calibration),
    sightTable(calibration),
    dimensionTable(overall),
    stepTable(calibration),
    canaryTable(overall),
  ].filter((table) => table !== undefined);
  const sections = [
    wrapped(verdict.sentence, look.columns).map((line) => painted(line, COLORS[verdict.use], look)),
    [
      ...wrapped(trust.line, look.columns).map((line) => bold(line, look)),
      ...wrapped(titleOf(calibration), look.columns),
      ...wrapped(countsOf(overall), look.columns),
    ],
    ...tables.map((table) => terminal(table, look).trimEnd().split('\n')),
    noiseSentences(overall).flatMap((line) => wrapped(line, look.columns)),
    calibration.notes.flatMap((note) => wrapped(`- ${printable(note)}`, look.columns, 2)),
    limitLines(calibration, look),
    (look.explain ? tables.flatMap(({ legend }) => legend) : [LEGEND]).flatMap((text) => wrapped(text, look.columns)),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
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

function noiseSentences({ noise, smallest_difference }: CalibrationPart): string[] {
  const interval = noise === null ? undefined : intervalText(noise, pointsText);
  if (noise === null || interval === undefined) return [];
  const from = `${counted(noise.judgements, 'judgement')} of ${counted(noise.predictions, 'prediction')}`;
  const sentence = `Noise: judgements of one prediction have an SD of ${pointsText(noise.sd)} points (${interval}; ${from}).`;
  if (smallest_difference === null) return [sentence];
  return [
    `${sentence} Two runs over the 2,170 rows have to differ by ${twoDecimals(smallest_difference)} points of Overall to show in spite of it (5 %, two-sided, power 80 %). That is the judge's noise alone; rows and sampling come on top.`,
  ];
}

const COLORS: Readonly<Record<CalibrationDocument['verdict']['use'], string>> = {
  good: '\x1b[1;32m',
  'with care': '\x1b[1;33m',
  'do not use': '\x1b[1;31m',
};

const VERDICTS: Readonly<Record<LimitVerdict, readonly [words: string, color: string]>> = {
  holds: ['PASSED', '\x1b[1;32m'],
  broken: ['NOT PASSED', '\x1b[1;31m'],
  undecided: ['UNDECIDED', '\x1b[1;33m'],
};

function limitLines({ limits }: CalibrationDocument, look: Look): string[] {
  if (limits === null) return [];
  const [words, color] = VERDICTS[limits.verdict];
  const sentences = limits.results.flatMap(({ sentence }) => wrapped(`- ${sentence}`, look.columns, 2));
  return [painted(`${words}: ${counted(limits.results.length, 'limit')} for the judge`, color, look), ...sentences];
}
