// The head of a calibration's page: which judge, under what, and its key figures.

import type { CalibrationPart } from '../../../calibration.js';
import { type LimitResult, type LimitVerdict, verdictOf } from '../../../judge-limits.js';
import type { CalibrationHeader } from '../../calibration/header.js';
import { count, number, range, signed, signedRange } from '../figures.js';
import { escapeHtml } from '../frame.js';
import { sightCounts } from './sight.js';

/** @param warnings what the calibration cannot tell, one sentence each */
export function calibrationHead(part: CalibrationPart, header: CalibrationHeader, warnings: readonly string[]): string {
  const { judge, rubricPack, verdicts, sampling, source, notes, limits } = header;
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
    keyFigures(part),
    limitWords(limits),
    sentences([...limits.map(({ sentence }) => sentence), ...notes]),
    '</header>',
  ].join('');
}

const VERDICTS: Readonly<Record<LimitVerdict, readonly [words: string, look: string]>> = {
  holds: ['Passed', 'good'],
  broken: ['Not passed', 'bad'],
  undecided: ['Undecided', 'soft'],
};

/** What came of the limits that the judge was held to. */
function limitWords(limits: readonly LimitResult[]): string {
  if (limits.length === 0) return '';
  const [words, look] = VERDICTS[verdictOf(limits)];
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

function penaltyFigure({ falsePenalty }: CalibrationPart): KeyFigure[] {
  if (falsePenalty === undefined) return [];
  const { cost, isNone } = falsePenalty;
  const meaning = isNone === undefined ? 'cannot be said to be none' : isNone ? 'as good as none' : 'not none';
  return [['False penalty', signed(cost.value), `${interval(signedRange(cost))}<br>${meaning}`]];
}

function noiseFigure({ noise, smallestDifference }: CalibrationPart): KeyFigure[] {
  if (noise === undefined) return [['Noise a row', '–', 'nothing was judged twice']];
  const reach = noise.low === undefined || noise.high === undefined ? undefined : [noise.low, noise.high];
  const shows =
    smallestDifference === undefined ? '' : `<br>2,170 rows can show ${smallestDifference.toFixed(1)} points`;
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
  if (gullibility === undefined) return [];
  const { variant, gain } = gullibility;
  return [
    ['Gullible', signed(gain.value), `${interval(signedRange(gain))}<br>${escapeHtml(variant.name)}, of all tricks`],
  ];
}
