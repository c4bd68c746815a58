// The head of a calibration's page: which judge, under what, and its key figures.

import { escapeHtml } from '../../report/html/frame.js';
import type { CalibrationDocument, CalibrationPart, LimitVerdict } from '../../stats/calibration/document.js';
import { notesOn } from '../../stats/calibration/limits.js';
import { count, number, range, signed, signedRange } from '../figures.js';
import { sightCounts } from './sight.js';

export function calibrationHead(calibration: CalibrationDocument): string {
  const { judge_model: judge, rubric_pack: rubricPack, verdicts, sampling, source, limits } = calibration;
  const warnings = notesOn(calibration);
  const facts = [
    ['rubrics', rubricPack],
    ['verdicts', verdicts],
    ['sampling', sampling],
    ['judgements', source],
  ].filter(([, text]) => text !== '');
  const spans = facts.map(([name = '', text = '']) => `<span>${name} <b>${escapeHtml(text)}</b></span>`);
  const said = warnings.map((text) => `<p>${escapeHtml(text)}</p>`).join('');
  return [
    `<header><h1>${escapeHtml(judge)}</h1><p class="by"><span>calibration of a judge</span>${spans.join('')}</p>`,
    said === '' ? '' : `<div class="warn" role="note">${said}</div>`,
    keyFigures(calibration.overall),
    limitWords(limits),
    sentences([
      ...(limits?.results ?? []).map(({ sentence }) => sentence),
      ...calibration.notes.slice(warnings.length),
    ]),
    '</header>',
  ].join('');
}

const VERDICTS: Readonly<Record<LimitVerdict, readonly [words: string, look: string]>> = {
  holds: ['Passed', 'good'],
  broken: ['Not passed', 'bad'],
  undecided: ['Undecided', 'soft'],
};

/** What came of the limits that the judge was held to. */
function limitWords(limits: CalibrationDocument['limits']): string {
  if (limits === null) return '';
  const [words, look] = VERDICTS[limits.verdict];
  return `<p class="limits"><b class="${look}">${words}</b></p>`;
}

function sentences(texts: readonly string[]): string {
  if (texts.length === 0) return '';
  return `<ul class="notes">${texts.map((text) => `<li>${escapeHtml(text)}</li>`).join('')}</ul>`;
}

/** A title, a figure as markup, and what stands under it as markup. */
type KeyFigure = readonly [title: string, figure: string, under: string];

function keyFigures(part: CalibrationPart): string {
  const boxes: KeyFigure[] = [
    ['Ceiling', number(part.ceiling), `${interval(range(part.ceiling))}<br>neutral rewrites`],
    ['Floor', number(part.floor), `${interval(range(part.floor))}<br>another row’s truth`],
    ...penaltyFigure(part),
    ...noiseFigure(part),
    blindFigure(part),
    ...gullibleFigure(part),
    [
      'Judgements',
      count(part.judged),
      `${count(part.rows)} rows, ${count(part.trajectories)} trajectories${part.failed === 0 ? '' : `<br>${count(part.failed)} failed`}`,
    ],
  ];
  const items = boxes.map(
    ([title, figure, under]) =>
      `<div><dt>${title}</dt><dd class="big">${figure}</dd><dd class="under">${under}</dd></div>`,
  );
  return `<dl class="key">${items.join('')}</dl>`;
}

function interval(text: string | undefined): string {
  return text === undefined ? 'no interval' : `95 %: ${text}`;
}

function penaltyFigure({ false_penalty: cost }: CalibrationPart): KeyFigure[] {
  if (cost === null) return [];
  const { is_none: isNone } = cost;
  const meaning = isNone === null ? 'cannot be said to be none' : isNone ? 'as good as none' : 'not none';
  return [['False penalty', signed(cost.value), `${interval(signedRange(cost))}<br>${meaning}`]];
}

function noiseFigure({ noise, smallest_difference: smallestDifference }: CalibrationPart): KeyFigure[] {
  if (noise === null) return [['Noise a row', '–', 'nothing was judged twice']];
  const reach = noise.low === null || noise.high === null ? undefined : [noise.low, noise.high];
  const shows = smallestDifference === null ? '' : `<br>2,170 rows can show ${smallestDifference.toFixed(1)} points`;
  return [
    ['Noise a row', noise.sd.toFixed(1), `${interval(reach?.map((end) => end.toFixed(1)).join(' to '))}${shows}`],
  ];
}

function blindFigure(part: CalibrationPart): KeyFigure {
  const { blind, undecided, all } = sightCounts(part.losses);
  const open = undecided === 0 ? '' : `, ${undecided} undecided`;
  return ['Blind to', `${blind}<small> of ${all}</small>`, `damages${open}`];
}

function gullibleFigure({ gullibility }: CalibrationPart): KeyFigure[] {
  if (gullibility === null) return [];
  return [
    [
      'Gullible',
      signed(gullibility.value),
      `${interval(signedRange(gullibility))}<br>${escapeHtml(gullibility.variant)}, of all tricks`,
    ],
  ];
}
