// The head of a report: what the run is, what a reader must know of it, and its key figures.

import { sumOf } from '../core/costs.js';
import { costCell } from '../core/money.js';
import type { ScoreCard } from '../core/types.js';
import { askedNames } from '../report/costs.js';
import { escapeHtml } from '../report/html/frame.js';
import { decimalsOf, leastText, overallName } from '../report/score-table.js';
import { trustTexts } from '../report/trust.js';
import { percent } from '../stats/coverage.js';
import type { Report, ReportRun } from './contents.js';
import { count, number, range, signed, signedRange } from './figures.js';
import { leadingFigure, leadOf } from './lead.js';

export function header(report: Report): string {
  const { run, other } = report;
  const compared = other && `<span>compared with <b>${escapeHtml(other.name)}</b></span>${factsApart(run, other)}`;
  const judges = trustTexts(other?.trust, run.trust).map((line) => `<p class="by">${escapeHtml(line)}</p>`);
  return [
    `<header><h1>${escapeHtml(run.name)}</h1><p class="by">${run.facts.map(factSpan).join('')}</p>`,
    compared === undefined ? '' : `<p class="by">${compared}</p>`,
    ...judges,
    warnings(report.warnings),
    keyFigures(report),
    '</header>',
  ].join('');
}

function factSpan([name, text]: readonly [string, string]): string {
  return `<span>${escapeHtml(name)} <b>${escapeHtml(text)}</b></span>`;
}

/** The facts of the other run that this one does not share. */
function factsApart(run: ReportRun, other: ReportRun): string {
  const own = new Map(run.facts);
  return other.facts
    .filter(([name, text]) => own.get(name) !== text)
    .map(factSpan)
    .join('');
}

function warnings(sentences: readonly string[]): string {
  if (sentences.length === 0) return '';
  return `<div class="warn" role="note">${sentences.map((text) => `<p>${escapeHtml(text)}</p>`).join('')}</div>`;
}

/** A title, a figure as markup, and what stands under it. */
type KeyFigure = readonly [title: string, figure: string, under: string];

function keyFigures(report: Report): string {
  const { card } = report.run;
  const failed = card.domains.reduce((all, domain) => all + (domain.failures['not-judged'] ?? 0), card.failed);
  const shareFailed = `${((failed / Math.max(1, card.chosen)) * 100).toFixed(1)} % of the rows`;
  const boxes: KeyFigure[] = [
    scoreFigure(report),
    ...changeFigure(report),
    [
      'Coverage',
      percent(card.coverage).replace('%', '<small>%</small>'),
      escapeHtml(leastText(card) ?? 'of every domain'),
    ],
    ['Predictions', count(card.valid), `valid, of ${card.chosen.toLocaleString('en')} chosen`],
    ['Failed or missing', count(failed), failed === 0 ? 'none' : shareFailed],
    ...tokenFigure(report),
  ];
  const items = boxes.map(
    ([title, figure, under]) =>
      `<div><dt>${escapeHtml(title)}</dt><dd class="big">${figure}</dd><dd class="under">${under}</dd></div>`,
  );
  return `<dl class="key">${items.join('')}</dl>`;
}

function scoreFigure(report: Report): KeyFigure {
  const { card } = report.run;
  const decimals = decimalsOf(leadOf(report));
  const figure = leadingFigure(card, report.measureOf);
  const name = overallName(card);
  return [
    name === 'Overall' ? name : `Score (${name})`,
    number(figure, decimals),
    `${underFigure(range(figure, decimals))}${officialText(card)}`,
  ];
}

function changeFigure({ change }: Report): KeyFigure[] {
  if (change === undefined) return [];
  const { difference } = change.overall;
  return [['Change', signed(difference.value), underFigure(signedRange(difference))]];
}

/** Tokens of all who were asked, with what they cost below. */
function tokenFigure({ spending, equivalence }: Report): KeyFigure[] {
  const names = askedNames(equivalence);
  const { usage, usd } = sumOf(spending.map(({ total }) => total.cost));
  const tokens = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
  const each = spending.map(
    ({ asked, total }) => `${names[asked].toLowerCase()}${usd === undefined ? '' : ` ${costCell(total.cost)}`}`,
  );
  return tokens === 0 ? [] : [['Tokens', inShort(tokens), each.join(usd === undefined ? ' and ' : ', ')]];
}

function underFigure(interval: string | undefined): string {
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}

/** The score as the official script counts it, without the model's failures; empty where it is the same. */
function officialText({ overall, overallWithFailures }: ScoreCard): string {
  const [official, counted] = [overall.total?.value, overallWithFailures.total?.value];
  if (official === undefined || counted === undefined || Math.abs(official - counted) < 0.05) return '';
  return `<br>official: ${official.toFixed(1)}`;
}

function inShort(tokens: number): string {
  if (tokens < 10_000) return count(tokens);
  const [size, unit] = tokens < 1e6 ? [tokens / 1e3, 'k'] : tokens < 1e9 ? [tokens / 1e6, 'M'] : [tokens / 1e9, 'G'];
  return `${size.toFixed(1)} <small>${unit}</small>`;
}
