// A rollout on a report's page: score by distance as curves with their intervals, the figures behind them, and the drift.

import { domainName } from '../core/domains.js';
import { counted } from '../core/figures.js';
import type { Measure } from '../core/measures.js';
import type { Estimate } from '../core/types.js';
import { block, escapeHtml } from '../report/html/frame.js';
import { overallDriftName } from '../report/rollout/tables.js';
import { decimalsOf } from '../report/score-table.js';
import type { Drift, RolloutBin, RolloutCard } from '../stats/rollout-card.js';
import { chart } from './charts.js';
import { count, DASH, number, range, signed, signedRange } from './figures.js';
import { cssPercent, mark, type Scale, scaleAround, scaleOf } from './scale.js';

/** The blocks of a run that is a rollout; empty for another one. @param lead what its figures mean; @param forced the run beside it */
export function rolloutBlocks(card: RolloutCard | undefined, lead: Measure, forced: string | undefined): string {
  if (card === undefined) return '';
  const { offScript, predictions } = card.all;
  const apart =
    offScript === 0
      ? 'Nothing is off-script.'
      : `${counted(offScript, 'prediction')} of ${predictions} ${offScript === 1 ? 'is' : 'are'} off-script: the recorded action refers to something that the rollout never showed. They count; the figures without them stand beside the others.`;
  const beside = card.drift === undefined ? '' : ` Dashed: the same rows predicted with true histories (${forced}).`;
  return [
    block(
      'Score by distance from the last true observation',
      escapeHtml(
        `Distance 1 has true history alone. Bands are 95 % intervals, clustered by trajectory${card.measure === undefined ? '; failures of the model are at rating 1' : ''}. Only long trajectories reach far.${turnsNote(card)}${beside} ${apart}`,
      ),
      `${curves(card, lead)}${figuresTable(card, lead)}`,
    ),
    driftBlock(card),
  ].join('');
}

/** Where all of a rollout starts at one turn, distances tell the steps. */
function turnsNote({ starts }: RolloutCard): string {
  const [start = 0, ...others] = starts;
  return start === 0 || others.length > 0 ? '' : ` The number of a turn is its distance plus ${start}.`;
}

interface Panel {
  readonly name: string;
  readonly bins: readonly RolloutBin[];
  readonly isSum: boolean;
}

function curves(card: RolloutCard, lead: Measure): string {
  const panels: Panel[] = [
    { name: 'All rows', bins: card.all.distances, isSum: true },
    ...card.domains.map(({ domain, distances }) => ({ name: domainName(domain), bins: distances, isSum: false })),
  ].filter(({ bins }) => bins.length > 1);
  if (panels.length === 0) return '';
  const bins = panels.flatMap((panel) => panel.bins);
  const scale = scaleOf(
    lead,
    bins.flatMap(({ score, paired }) => [score, paired?.forced]),
  );
  const figures = panels.map(
    ({ name, bins: own, isSum }) =>
      `<figure${isSum ? ' class="sum"' : ''}><figcaption>${escapeHtml(name)}</figcaption><svg class="curve" aria-hidden="true">${drawing(own, scale)}</svg></figure>`,
  );
  return `<div class="curves">${figures.join('')}</div>`;
}

/** Of the width; what is left keeps dots and labels off the edges. */
const FIRST = 4;
const WIDTH = 88;
/** What a distance's name takes. */
const LABEL = 11;

type Point = readonly [x: number, y: number];

function drawing(bins: readonly RolloutBin[], scale: Scale): string {
  const middles = bins.map(({ from, to }) => (from + to) / 2);
  const [least, most] = [Math.min(...middles), Math.max(...middles)];
  const x = (at: number) => FIRST + (WIDTH * ((middles[at] ?? least) - least)) / (most - least);
  const y = (value: number) => 100 - (100 * (within(value, scale) - scale.from)) / (scale.to - scale.from);
  const points = (of: (bin: RolloutBin) => number | undefined): Point[] =>
    bins.flatMap((bin, at) => {
      const value = of(bin);
      return value === undefined ? [] : [[x(at), y(value)] as const];
    });
  const band = (of: (bin: RolloutBin) => Estimate | undefined) => [
    ...points((bin) => of(bin)?.high),
    ...points((bin) => of(bin)?.low).reverse(),
  ];
  const scores = points(({ score }) => score.value);
  const grid = scale.ticks.map((tick) => {
    const at = cssPercent(y(tick));
    return `<line class="grid" x1="0" x2="100%" y1="${at}" y2="${at}"/><text class="end" x="-6" y="${at}" dy="0.32em">${tick}</text>`;
  });
  const labels = labelled(bins.map((_bin, at) => x(at))).map((at) => {
    const { from, to } = bins[at] ?? { from: 0, to: 0 };
    const name = from === to ? String(from) : `${from}–${to}`;
    return `<text class="mid" x="${cssPercent(x(at))}" y="100%" dy="1.5em">${name}</text>`;
  });
  const dots = scores.map(([cx, cy]) => `<circle class="dot" cx="${cssPercent(cx)}" cy="${cssPercent(cy)}" r="3.5"/>`);
  return [
    ...grid,
    // Areas and bent lines take no percentages: they stand in a drawing that is stretched.
    '<svg viewBox="0 0 100 100" preserveAspectRatio="none">',
    `<polygon class="band" points="${pathOf(band(({ score }) => score))}"/>`,
    `<polyline class="bent other" points="${pathOf(points(({ paired }) => paired?.forced.value))}"/>`,
    `<polyline class="bent" points="${pathOf(scores)}"/></svg>`,
    ...dots,
    ...labels,
  ].join('');
}

/** The places that have room for a name: the last one, and from the first on each that is far enough from the named ones. */
function labelled(places: readonly number[]): number[] {
  const last = places.length - 1;
  const named: number[] = [];
  let free = Number.NEGATIVE_INFINITY;
  for (const [at, place] of places.entries()) {
    const isClear = place >= free && (places[last] ?? place) - place >= 1.5 * LABEL;
    if (!isClear && at !== last) continue;
    named.push(at);
    free = place + LABEL;
  }
  return named;
}

function within(value: number, { from, to }: Scale): number {
  return Math.min(to, Math.max(from, value));
}

function pathOf(points: readonly Point[]): string {
  return points.map(([x, y]) => `${Number(x.toFixed(2))},${Number(y.toFixed(2))}`).join(' ');
}

function rangeText({ from, to }: RolloutBin): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

/** The same over all rows in figures. */
function figuresTable(card: RolloutCard, lead: Measure): string {
  const decimals = decimalsOf(lead);
  const hasOff = card.all.offScript > 0;
  const heads = [
    ...['Rows', 'Score'],
    ...(hasOff ? ['On script'] : []),
    ...(card.drift === undefined ? [] : ['True histories', 'Difference']),
  ];
  const lines = card.all.distances.map((bin) => {
    const { score, onScript, paired } = bin;
    const cells = [
      count(score.rows),
      withRange(number(score, decimals), range(score, decimals)),
      ...(hasOff ? [withRange(number(onScript, decimals), range(onScript, decimals))] : []),
      ...(card.drift === undefined
        ? []
        : [number(paired?.forced, decimals), paired === undefined ? DASH : differenceCell(paired.difference)]),
    ];
    return `<tr><th scope="row">${rangeText(bin)}</th>${cells.map((cell) => `<td class="n">${cell}</td>`).join('')}</tr>`;
  });
  const head = heads.map((text) => `<th scope="col" class="n">${text}</th>`).join('');
  return `<div class="scroll"><table class="matrix"><thead><tr><th scope="col">Distance</th>${head}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

function withRange(figure: string, interval: string | undefined): string {
  return `${figure}<span class="range under">${interval ?? 'no interval'}</span>`;
}

function differenceCell(difference: Estimate): string {
  return withRange(signed(difference.value), signedRange(difference));
}

function driftBlock(card: RolloutCard): string {
  const { drift } = card;
  if (drift === undefined) return '';
  const lines = [
    ...drift.domains.map(({ domain, all, onScript }) => ({ name: domainName(domain), all, onScript, isSum: false })),
    { name: overallDriftName(drift), ...drift.overall, isSum: true },
  ];
  const shown = lines.flatMap(({ all }) => all?.slope ?? []);
  const scale = scaleAround(shown.flatMap(({ value, low, high }) => [value, low ?? 0, high ?? 0]));
  const hasOff = drift.overall.onScript !== undefined;
  const columns = ['A step', '95 % interval', ...(hasOff ? ['On script'] : []), 'Difference', 'Rows'];
  const left = drift.unpaired === 0 ? '' : ` ${counted(drift.unpaired, 'row')} without such a partner left out.`;
  return block(
    'Drift',
    escapeHtml(
      `How many points the rollout loses, or gains, each step against the predictions of the same rows with true histories: the slope of the paired difference within trajectories, clustered by these. Where the line crosses 0 the data do not show a drift.${left}`,
    ),
    chart('Domain', columns, scale, lines, ({ name, all, onScript, isSum }) => [
      isSum,
      escapeHtml(name),
      mark(all?.slope, scale, 5),
      [
        slopeText(all),
        `<span class="range">${(all?.slope && signedRange(all.slope)) ?? DASH}</span>`,
        ...(hasOff ? [slopeText(onScript)] : []),
        all === undefined ? DASH : signed(all.difference.value),
        count(all?.slope?.rows),
      ],
    ]),
  );
}

function slopeText(drift: Drift | undefined): string {
  return drift?.slope === undefined ? DASH : signed(drift.slope.value);
}
