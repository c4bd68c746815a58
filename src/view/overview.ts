// The overview of a report: its head, its figures, and what is behind them.

import { domainName, domainsOfMean } from '../core/domains.js';
import { printable } from '../core/printable.js';
import { askedNames } from '../report/costs.js';
import { block, escapeHtml } from '../report/html/frame.js';
import { isLikeScore, leadingMeasure, measureNames } from '../report/score-table.js';
import { changeChart, intervalChart, samplesHref } from './charts.js';
import type { Report, ReportBin, ReportRun } from './contents.js';
import { equivalenceBlock } from './equivalence.js';
import { header } from './header.js';
import { leadingLines, leadOf } from './lead.js';
import { figureMatrix } from './matrix.js';
import { ratingChart } from './ratings.js';
import { rolloutBlocks } from './rollout.js';
import { spendingTable } from './spending.js';
import { tallyTable } from './tally.js';

export function overview(report: Report): string {
  return [
    header(report),
    scores(report),
    changes(report),
    equivalenceBlock(report.equivalence),
    rolloutBlocks(report.rollout, leadOf(report), report.other?.name),
    dimensions(report),
    ratings(report),
    partsOfRun(report),
    troubles(report),
    spent(report),
    manifestBlock(report.manifest),
  ].join('');
}

function legend(run: ReportRun, other: ReportRun): string {
  const key = (kind: string, name: string) =>
    `<li><svg class="line" aria-hidden="true"><g class="${kind}"><line class="reach" x1="0" x2="100%" y1="50%" y2="50%"/><circle class="dot" cx="50%" cy="50%" r="4"/></g></svg>${escapeHtml(name)}</li>`;
  return `<ul class="legend">${key('own', run.name)}${key('other', other.name)}</ul>`;
}

function scores(report: Report): string {
  const { run, other, measureOf } = report;
  const lines = leadingLines(run.card, other?.card, measureOf);
  const key = other === undefined ? '' : legend(run, other);
  return block(
    `${escapeHtml(leadingMeasure(run.card, measureOf) ?? 'Scores')} by domain`,
    'Dots are scores, lines their 95 % intervals, clustered by trajectory: turns of one trajectory are not independent.',
    `${key}${intervalChart('Domain', lines, leadOf(report), other?.name)}`,
  );
}

function changes({ change, other }: Report): string {
  if (change === undefined || other === undefined) return '';
  const lines = change.domains.map(({ domain, ...line }) => {
    const name = domainName(domain);
    return { ...line, name, href: samplesHref({ domain: name, change: 'worse', sort: 'worst' }) };
  });
  return block(
    `Change against ${escapeHtml(other.name)}`,
    'Paired row by row, in points of 0 to 100, with failures that the model caused at rating 1. Where the line crosses 0 the data do not show that there is a difference.',
    changeChart([...lines, { ...change.overall, name: wholeOf(change), isSum: true }]),
  );
}

/** Whose mean the last line is: the seven's where further domains stand beside them. */
function wholeOf({ domains }: NonNullable<Report['change']>): string {
  const names = domains.map(({ domain }) => domain);
  return domainsOfMean(names).length < names.length ? 'Overall' : 'All domains';
}

function dimensions({ run: { card }, measureOf }: Report): string {
  const onScale = measureNames(card).every((name) => isLikeScore(measureOf(name))) ? ' on a scale of 0 to 100,' : ',';
  return block('Dimensions', `Each figure${onScale} its 95 % interval below it.`, figureMatrix(card, measureOf));
}

function ratings({ run, samples, measureOf }: Report): string {
  if (leadingMeasure(run.card, measureOf) !== undefined) return '';
  const rows = samples.map(({ row }) => row);
  return block('Ratings', 'How often the judge gave each rating from 1 to 5, over valid rows.', ratingChart(rows));
}

function partsOfRun(report: Report): string {
  const { turns, contexts } = report;
  const part = (title: string, note: string, first: string, bins: readonly ReportBin[]) =>
    bins.length < 2 ? '' : block(title, note, intervalChart(first, bins, leadOf(report)));
  const parts = [
    part('Score by turn', 'Position of the predicted turn in its trajectory; mean over samples.', 'Turn', turns),
    part(
      'Score by context length',
      'Characters put to the world model: system prompt, history and action; mean over samples.',
      'Characters',
      contexts,
    ),
  ].join('');
  return parts === '' ? '' : `<div class="pair">${parts}</div>`;
}

function troubles({ run: { card } }: Report): string {
  const failures = tallyTable(
    'Failure',
    card,
    (domain) => domain.failures,
    (name) => name !== 'not-judged' && name !== 'unstated',
  );
  const flags = tallyTable(
    'Flag',
    card,
    (domain) => domain.flags,
    () => true,
  );
  const none = (what: string) => `<p class="soft">No ${what}.</p>`;
  return [
    block(
      'Failures',
      'Rows without a score, by cause. Empty, refused and confusing predictions are the model’s doing; the others are missing data.',
      failures ?? none('failures'),
    ),
    block('Flags', 'What is odd about a prediction without making it a failure.', flags ?? none('flags')),
  ].join('');
}

function spent({ spending, equivalence }: Report): string {
  if (spending.length === 0) return '';
  return block(
    'Tokens and cost',
    'As the servers counted, failed rows and replies that were asked for again among them; cached tokens are part of the prompt’s, reasoning tokens of the output.',
    spendingTable(spending, askedNames(equivalence)),
  );
}

function manifestBlock(manifest: string | undefined): string {
  if (manifest === undefined) return '';
  const lines = printable(manifest, { multiline: true }).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<div class="folds"><details><summary>Manifest<span class="soft">what made this run</span></summary><pre class="tall" tabindex="0">${lines}</pre></details></div>`;
}
