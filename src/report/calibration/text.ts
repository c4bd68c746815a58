// A calibration as people read it in a terminal: the judge in one line, then its tables, its noise and what it was held to.

import type { Calibration, CalibrationPart } from '../../calibration.js';
import { counted, intervalText, twoDecimals } from '../../figures.js';
import { type JudgeVerdict, type LimitVerdict, verdictOf } from '../../judge-limits.js';
import { pointsText, trustLine, trustOf } from '../../judge-trust.js';
import { oneLine, printable } from '../../printable.js';
import { bold, type Look, painted, terminal, wrapped } from '../terminal.js';
import type { CalibrationHeader } from './header.js';
import { limitsOfCalibration } from './notes.js';
import { canaryTable, dimensionTable, domainTable, sightTable, stepTable } from './tables.js';

/** The marks that the tables cannot be read without. */
const LEGEND =
  'Damage: a bare number is seen, blind is not, (in parentheses) is undecided. --explain tells how to read this.';

/** The calibration as text that ends in a line feed: whether the judge can be used, its figures, and how to read them. */
export function calibrationText(calibration: Calibration, header: CalibrationHeader, look: Look): string {
  const { overall } = calibration;
  const tables = [
    domainTable(calibration),
    sightTable(calibration),
    dimensionTable(overall),
    stepTable(calibration),
    canaryTable(overall),
  ].filter((table) => table !== undefined);
  const notes = [...limitsOfCalibration(calibration), ...header.notes].map((note) => printable(note));
  const { use, sentence } = header.verdict;
  const sections = [
    wrapped(sentence, look.columns).map((line) => painted(line, COLORS[use], look)),
    [
      ...wrapped(trustLine(trustOf(calibration)), look.columns).map((line) => bold(line, look)),
      ...wrapped(titleOf(header), look.columns),
      ...wrapped(countsOf(overall), look.columns),
    ],
    ...tables.map((table) => terminal(table, look).trimEnd().split('\n')),
    noiseSentences(overall).flatMap((line) => wrapped(line, look.columns)),
    notes.flatMap((note) => wrapped(`- ${note}`, look.columns, 2)),
    limitLines(header, look),
    (look.explain ? tables.flatMap(({ legend }) => legend) : [LEGEND]).flatMap((text) => wrapped(text, look.columns)),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function titleOf({ judge, rubricPack, verdicts, sampling, source }: CalibrationHeader): string {
  const parts = [judge, `rubrics ${rubricPack}`, `${verdicts} verdicts`, sampling, source];
  return oneLine(parts.filter((part) => part !== '').join(', '), 400);
}

function countsOf({ judged, failed, failures, rows, trajectories }: CalibrationPart): string {
  const classes = Object.entries(failures).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  const without = failed === 0 ? '' : `; ${failed} without a rating (${classes.join(', ')})`;
  const of = `${counted(rows, 'row')} in ${counted(trajectories, 'trajectory', 'trajectories')}`;
  return `${counted(judged, 'judgement')} of ${of}${without}`;
}

function noiseSentences({ noise, smallestDifference }: CalibrationPart): string[] {
  const interval = noise && intervalText(noise, pointsText);
  if (noise === undefined || interval === undefined) return [];
  const from = `${counted(noise.judgements, 'judgement')} of ${counted(noise.predictions, 'prediction')}`;
  const sentence = `Noise: judgements of one prediction have an SD of ${pointsText(noise.sd)} points (${interval}; ${from}).`;
  if (smallestDifference === undefined) return [sentence];
  return [
    `${sentence} Two runs over the 2,170 rows have to differ by ${twoDecimals(smallestDifference)} points of Overall to show in spite of it (5 %, two-sided, power 80 %). That is the judge's noise alone; rows and sampling come on top.`,
  ];
}

const COLORS: Readonly<Record<JudgeVerdict['use'], string>> = {
  good: '\x1b[1;32m',
  'with care': '\x1b[1;33m',
  'do not use': '\x1b[1;31m',
};

const VERDICTS: Readonly<Record<LimitVerdict, readonly [words: string, color: string]>> = {
  holds: ['PASSED', '\x1b[1;32m'],
  broken: ['NOT PASSED', '\x1b[1;31m'],
  undecided: ['UNDECIDED', '\x1b[1;33m'],
};

function limitLines({ limits }: CalibrationHeader, look: Look): string[] {
  if (limits.length === 0) return [];
  const [words, color] = VERDICTS[verdictOf(limits)];
  const sentences = limits.flatMap(({ sentence }) => wrapped(`- ${sentence}`, look.columns, 2));
  return [painted(`${words}: ${counted(limits.length, 'limit')} for the judge`, color, look), ...sentences];
}
