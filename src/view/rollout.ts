// A rollout on a report's page: score by distance as curves with their intervals, the figures behind them, and the drift.

import { domainName } from '../core/domains.js';
import { counted } from '../core/figures.js';
import type { Measure } from '../core/measures.js';
import { type Child, html } from '../report/html.js';
import { overallDriftName, rolloutTables } from '../report/rollout/tables.js';
import type { RolloutCard } from '../stats/rollout.js';
import { differenceChart, scaleOf } from './charts.js';
import { curves } from './curves.js';
import { block, count, signed, terminalTable } from './parts.js';

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
