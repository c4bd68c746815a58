// The overview of a report: its head, its figures, and what is behind them.

import { FIGURES } from '../core/comparison.js';
import { ASKED, sumOf } from '../core/costs.js';
import { domainName, domainsOfMean } from '../core/domains.js';
import type { Measure } from '../core/measures.js';
import { possibleRating } from '../core/points.js';
import { costCell, counted, printable } from '../core/printable.js';
import { dimensionName, notesBelow, type Table } from '../core/table.js';
import { DIMENSIONS, type Dimension, type DomainScore, type JudgedRow, type ScoreCard } from '../core/types.js';
import { askedNames, costTable } from '../report/costs.js';
import {
  decimalsOf,
  equivalenceTable,
  isLikeScore,
  leastText,
  measureNames,
  measureTable,
  overallDriftName,
  overallName,
  rolloutTables,
  scoreTable,
} from '../report/score-table.js';
import { trustTexts } from '../report/trust.js';
import { percent } from '../stats/coverage.js';
import type { RolloutCard } from '../stats/rollout.js';
import { type ChartLine, chartClass, cssPercent, differenceChart, intervalChart, scaleOf } from './charts.js';
import { curves } from './curves.js';
import { type Child, html, longText, type Markup, table } from './html.js';
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
  terminalTable,
  underFigure,
} from './parts.js';
import { type Leading, leadName, leadOf, type Report, type ReportBin } from './report-contents.js';

export function overview(report: Report): Child {
  const { rollout, equivalence, other, manifest, costs } = report;
  const spent = costTable(costs, { byDomain: true, names: askedNames(equivalence) });
  return [
    reportHead(report),
    scores(report),
    changes(report),
    equivalence && dataBlock('Decision equivalence', equivalenceTable(equivalence)),
    rollout && rolloutBlocks(rollout, leadOf(report), other?.name),
    dimensions(report),
    ratings(report),
    html`<div class="pair">${parts(report)}</div>`,
    troubles(report.run.card),
    spent &&
      block(
        'Tokens and cost',
        'As the servers counted, failed rows and replies that were asked for again among them; cached tokens are part of the prompt’s, reasoning tokens of the output.',
        html`${terminalTable(spent, String, 0)}`,
      ),
    manifest !== undefined &&
      html`<div class="folds"><details><summary>Manifest<span class="soft">what made this run</span></summary><pre class="tall" tabindex="0">${longText(manifest)}</pre></details></div>`,
  ];
}

function reportHead(report: Report): Markup {
  const { run, other, warnings } = report;
  const own = new Map(run.facts);
  const apart = other?.facts.filter(([name, text]) => own.get(name) !== text);
  const lines = [
    factSpans(run.facts),
    ...(other && apart ? [[html`<span>compared with <b>${other.name}</b></span>`, factSpans(apart)]] : []),
    ...trustTexts(other?.trust, run.trust),
  ];
  const facts = lines.map((line, at) => (at === 0 ? line : html`</p><p class="by">${line}`));
  return header(run.name, facts, warnings, keyFigures(report));
}

function keyFigures(report: Report): (KeyFigure | false | undefined)[] {
  const { run, change, costs, equivalence } = report;
  const { card } = run;
  const failed = card.domains.reduce((all, domain) => all + (domain.failures['not-judged'] ?? 0), card.failed);
  const decimals = decimalsOf(leadOf(report));
  const { mean } = leadingFigures(report, card);
  const name = overallName(card);
  const [official, counted] = [card.overall.total?.value, card.overallWithFailures.total?.value];
  const differs = official !== undefined && counted !== undefined && Math.abs(official - counted) >= 0.05;
  const asked = ASKED.flatMap((who) => {
    const total = costs[who]?.total;
    return total === undefined || total.rows + total.unpriced === 0 ? [] : [{ who, total }];
  });
  const { usage, usd } = sumOf(asked.map(({ total }) => total));
  const tokens = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
  const each = asked.map(({ who, total }) => {
    const name = askedNames(equivalence)[who].toLowerCase();
    return usd === undefined ? name : `${name} ${costCell(total)}`;
  });
  return [
    [
      name === 'Overall' ? name : `Score (${name})`,
      number(mean, decimals),
      underFigure(range(mean, decimals)),
      differs && `official: ${official.toFixed(1)}`,
    ],
    change && ['Change', signed(change.overall.difference), underFigure(signedRange(change.overall.difference))],
    [
      'Coverage',
      html`${percent(card.coverage).replace('%', '')} <small>%</small>`,
      leastText(card) ?? 'of every domain',
    ],
    ['Predictions', count(card.valid), `valid, of ${card.chosen.toLocaleString('en')} chosen`],
    [
      'Failed or missing',
      count(failed),
      failed === 0 ? 'none' : `${((failed / Math.max(1, card.chosen)) * 100).toFixed(1)} % of the rows`,
    ],
    tokens > 0 && ['Tokens', inShort(tokens), each.join(usd === undefined ? ' and ' : ', ')],
  ];
}

function inShort(tokens: number): Child {
  if (tokens < 10_000) return count(tokens);
  const [size, unit] = tokens < 1e6 ? [tokens / 1e3, 'k'] : tokens < 1e9 ? [tokens / 1e6, 'M'] : [tokens / 1e9, 'G'];
  return html`${size.toFixed(1)} <small>${unit}</small>`;
}

/** What the report leads with, of a card: by domain, and the mean over them. */
export function leadingFigures(report: Leading, card: ScoreCard) {
  const lead = leadName(report);
  const figureOf = ({ withFailures, measures }: DomainScore) =>
    lead === undefined ? withFailures.total : measures[lead];
  return {
    domains: new Map(card.domains.map((score) => [score.domain, figureOf(score)])),
    mean: lead === undefined ? card.overallWithFailures.total : card.overallMeasures[lead],
  };
}

/** The list of samples under filters. */
function samplesLink(name: string, filters: Readonly<Record<string, string>>): Markup {
  const set = Object.entries(filters).map(([filter, value]) => `${filter}=${encodeURIComponent(printable(value))}`);
  return html`<a href="#samples?${set.join('&')}">${name}</a>`;
}

function scores(report: Report): Child {
  const { run, other } = report;
  const [own, others] = [leadingFigures(report, run.card), other && leadingFigures(report, other.card)];
  const lines: ChartLine[] = [
    ...[...own.domains].map(([domain, estimate]) => ({
      name: samplesLink(domainName(domain), { domain: domainName(domain) }),
      estimate,
      other: others?.domains.get(domain),
    })),
    { name: overallName(run.card), estimate: own.mean, other: others?.mean, isSum: true },
  ];
  const key = (kind: string, name: string) =>
    html`<li><svg class="line" aria-hidden="true"><g class="${kind}"><line class="reach" x1="0" x2="100%" y1="50%" y2="50%"/><circle class="dot" cx="50%" cy="50%" r="4"/></g></svg>${name}</li>`;
  const legend = other && html`<ul class="legend">${key('own', run.name)}${key('other', other.name)}</ul>`;
  return block(
    `${leadName(report) ?? 'Scores'} by domain`,
    'Dots are scores, lines their 95 % intervals, clustered by trajectory: turns of one trajectory are not independent.',
    html`${legend}${intervalChart('Domain', lines, leadOf(report), other?.name)}`,
  );
}

function changes({ change, other }: Report): Child {
  if (change === undefined || other === undefined) return undefined;
  const names = change.domains.map(({ domain }) => domain);
  const cells = ({ wins, ties, losses }: typeof change.overall) => [wins, ties, losses].map(count);
  const lines = change.domains.map((line) => {
    const name = domainName(line.domain);
    const link = samplesLink(name, { domain: name, change: 'worse', sort: 'worst' });
    return { name: link, estimate: line.difference, cells: cells(line) };
  });
  const sum = {
    // Whose mean it is: the seven's where further domains stand beside them.
    name: domainsOfMean(names).length < names.length ? 'Overall' : 'All domains',
    estimate: change.overall.difference,
    cells: cells(change.overall),
    isSum: true,
  };
  return block(
    `Change against ${other.name}`,
    'Paired row by row, in points of 0 to 100, with failures that the model caused at rating 1. Where the line crosses 0 the data do not show that there is a difference.',
    differenceChart('Domain', ['Change', 'Better', 'Same', 'Worse'], [...lines, sum]),
  );
}

/** A block with a table as the terminal shows it. */
function dataBlock(title: string, shown: Table): Child {
  return block(title, shown.legend?.join(' '), html`${terminalTable(shown)}`);
}

/** Every figure of the tables that `awb score` prints, each above its interval. */
function dimensions({ run: { card }, measureOf }: Report): Child {
  const names = measureNames(card);
  const measured = card.domains.filter(({ measures }) => Object.keys(measures).length > 0);
  const rated = figureTable(
    scoreTable(card),
    FIGURES,
    [...card.domains.map(({ withFailures }) => withFailures), card.overallWithFailures],
    () => 1,
  );
  const others = figureTable(
    measureTable(card, measureOf),
    names,
    [...measured.map(({ measures }) => measures), card.overallMeasures],
    (name) => decimalsOf(measureOf(name)),
  );
  const isOnScale = names.every((name) => isLikeScore(measureOf(name)));
  return block(
    'Dimensions',
    `Each figure${isOnScale ? ' on a scale of 0 to 100,' : ','} its 95 % interval below it.`,
    html`${rated}${others}`,
  );
}

/** A table of names, rows and these figures, in which the interval of a figure stands below it and not in a column of its own. */
function figureTable<Name extends string>(
  shown: Table | undefined,
  names: readonly Name[],
  sets: readonly Readonly<Partial<Record<Name, Parameters<typeof range>[0]>>>[],
  decimalsIn: (name: Name) => number,
): Child {
  if (shown === undefined) return undefined;
  const { columns, groups, ...rest } = shown;
  const isKept = (_: unknown, column: number) => columns[column]?.heading !== '95 % interval';
  const kept = {
    ...rest,
    columns: columns.filter(isKept),
    groups: groups.map((rows) => rows.map((row) => row.filter(isKept))),
  };
  return terminalTable({ ...kept, footnotes: notesBelow(shown) }, (text, row, column) => {
    const name = names[column - 2];
    const interval = name && range(sets[row]?.[name], decimalsIn(name));
    return interval === undefined ? text : [text, html`<span class="range under">${interval}</span>`];
  });
}

/** How often each rating was given, by dimension. */
function ratings(report: Report): Child {
  if (leadName(report) !== undefined) return undefined;
  const rows = report.samples.map(({ row }) => row);
  return block('Ratings', 'How often the judge gave each rating from 1 to 5, over valid rows.', ratingChart(rows));
}

const RATINGS = [1, 2, 3, 4, 5];

export function ratingChart(rows: readonly JudgedRow[]): Markup {
  const keys = RATINGS.map(
    (rating) =>
      html`<li><svg aria-hidden="true"><rect class="f${rating}" width="100%" height="100%" rx="2"/></svg>${rating}</li>`,
  );
  const lines = DIMENSIONS.map((dimension) => ({ cells: ratingCells(rows, dimension) }));
  const classOf = (column: number) => (column > 1 && column < 7 ? 'n wide' : chartClass(Math.min(column, 2)));
  const chart = table(['Dimension', '', ...RATINGS, 'Mean'], lines, { look: 'chart one', classOf });
  return html`<ul class="legend" aria-hidden="true">${keys}</ul>${chart}`;
}

/** Fractions, as panels give them, are counted with the nearest whole rating; the mean is theirs as they are. */
function ratingCells(rows: readonly JudgedRow[], dimension: Dimension): Child[] {
  const given = rows.flatMap((row) => possibleRating(row, dimension) ?? []);
  const counts = RATINGS.map((rating) => given.filter((each) => Math.round(each) === rating).length);
  let from = 0;
  const bars = counts.map((times, at) => {
    const share = given.length === 0 ? 0 : (times / given.length) * 100;
    const middle = cssPercent(from + share / 2);
    const label = share >= 7 && html`<text class="o${at + 1}" x="${middle}" y="52%">${Math.round(share)} %</text>`;
    const bar = html`<rect class="f${at + 1}" x="${cssPercent(from)}" width="${cssPercent(share)}" height="100%"/>${label}`;
    from += share;
    return share > 0 && bar;
  });
  const mean = given.reduce((sum, rating) => sum + rating, 0) / given.length;
  const stack = html`<svg class="stack" aria-hidden="true">${bars}</svg>`;
  return [dimensionName(dimension), stack, ...counts.map(count), given.length === 0 ? DASH : mean.toFixed(2)];
}

/** Scores by turn and by context length. */
function parts(report: Report): Child {
  const part = (title: string, note: string, first: string, bins: readonly ReportBin[]) =>
    bins.length > 1 && block(title, note, intervalChart(first, bins, leadOf(report)));
  return [
    part('Score by turn', 'Position of the predicted turn in its trajectory; mean over samples.', 'Turn', report.turns),
    part(
      'Score by context length',
      'Characters put to the world model: system prompt, history and action; mean over samples.',
      'Characters',
      report.contexts,
    ),
  ];
}

function troubles(card: ScoreCard): Child {
  const none = (what: string) => html`<p class="soft">No ${what}.</p>`;
  return [
    block(
      'Failures',
      'Rows without a score, by cause. Empty, refused and confusing predictions are the model’s doing; the others are missing data.',
      tallyTable('Failure', card, ({ failures }) => failures) ?? none('failures'),
    ),
    block(
      'Flags',
      'What is odd about a prediction without making it a failure.',
      tallyTable('Flag', card, ({ flags }) => flags) ?? none('flags'),
    ),
  ];
}

/** Of these there are no samples, or none of that name. */
const UNLISTED: readonly string[] = ['not-judged', 'unstated'];

/** Counts by name and domain: failures by class, or flags. */
function tallyTable(
  first: string,
  { domains }: ScoreCard,
  tallyOf: (domain: DomainScore) => Readonly<Record<string, number>>,
): Markup | undefined {
  const names = [...new Set(domains.flatMap((domain) => Object.keys(tallyOf(domain))))];
  const rows = names
    .map((name) => {
      const counts = domains.map((domain) => tallyOf(domain)[name] ?? 0);
      return { name, counts, sum: counts.reduce((sum, times) => sum + times, 0) };
    })
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum)
    .map(({ name, counts, sum }) => {
      const link = UNLISTED.includes(name) ? name : samplesLink(name, { flag: name });
      return { cells: [link, ...counts.map(count), html`<b>${count(sum)}</b>`] };
    });
  return tableOf([first, ...domains.map(({ domain }) => domainName(domain)), 'All'], rows);
}

// A rollout on a report's page: score by distance as curves with their intervals, the figures behind them, and the drift.

/** The blocks of a run that is a rollout. @param lead what its figures mean; @param forced the run beside it */
export function rolloutBlocks(card: RolloutCard, lead: Measure, forced: string | undefined): Child {
  const { offScript, predictions } = card.all;
  const apart =
    offScript === 0
      ? 'Nothing is off-script.'
      : `${counted(offScript, 'prediction')} of ${predictions} ${offScript === 1 ? 'is' : 'are'} off-script: the recorded action refers to something that the rollout never showed. They count; the figures without them stand beside the others.`;
  const [start = 0, ...others] = card.starts;
  const note = [
    `Distance 1 has true history alone. Bands are 95 % intervals, clustered by trajectory${card.measure === undefined ? '; failures of the model are at rating 1' : ''}. Only long trajectories reach far.`,
    ...(start > 0 && others.length === 0 ? [`The number of a turn is its distance plus ${start}.`] : []),
    ...(card.drift === undefined ? [] : [`Dashed: the same rows predicted with true histories (${forced}).`]),
    apart,
  ].join(' ');
  return [
    block(
      'Score by distance from the last true observation',
      note,
      html`${distanceCurves(card, lead)}${rolloutTables(card, false)
        .slice(0, 1)
        .map((shown) => terminalTable(shown))}`,
    ),
    driftBlock(card),
  ];
}

function distanceCurves({ all, domains }: RolloutCard, lead: Measure): Child {
  const parts = [
    { name: 'All rows', bins: all.distances, isSum: true },
    ...domains.map(({ domain, distances }) => ({ name: domainName(domain), bins: distances, isSum: false })),
  ].filter(({ bins }) => bins.length > 1);
  if (parts.length === 0) return undefined;
  const figures = parts.flatMap(({ bins }) => bins).flatMap(({ score, paired }) => [score, paired?.forced]);
  const drawn = parts.map(({ name, bins, isSum }) => {
    const middles = bins.map(({ from, to }) => (from + to) / 2);
    const [least, most] = [Math.min(...middles), Math.max(...middles)];
    const points = bins.map(({ from, to, score, paired }) => ({
      at: ((from + to) / 2 - least) / (most - least),
      label: from === to ? String(from) : `${from}–${to}`,
      estimate: score,
      other: paired?.forced.value,
    }));
    return { name, points, isSum };
  });
  return curves(drawn, scaleOf(lead, figures));
}

function driftBlock({ drift }: RolloutCard): Child {
  if (drift === undefined) return undefined;
  const hasOff = drift.overall.onScript !== undefined;
  const lines = [
    ...drift.domains.map(({ domain, ...drifts }) => ({ name: domainName(domain), ...drifts, isSum: false })),
    { name: overallDriftName(drift), ...drift.overall, isSum: true },
  ].map(({ name, all, onScript, isSum }) => ({
    name,
    isSum,
    estimate: all?.slope,
    cells: [...(hasOff ? [signed(onScript?.slope)] : []), signed(all?.difference), count(all?.slope?.rows)],
  }));
  const left = drift.unpaired === 0 ? '' : ` ${counted(drift.unpaired, 'row')} without such a partner left out.`;
  return block(
    'Drift',
    `How many points the rollout loses, or gains, each step against the predictions of the same rows with true histories: the slope of the paired difference within trajectories, clustered by these. Where the line crosses 0 the data do not show a drift.${left}`,
    differenceChart('Domain', ['A step', ...(hasOff ? ['On script'] : []), 'Difference', 'Rows'], lines),
  );
}
