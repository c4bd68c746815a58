// What a rollout scores as tables: by distance from the last true observation, where starts differ by step, too, and how it drifts.

import { domainName } from '../../domains.js';
import { counted } from '../../figures.js';
import { oneLine } from '../../printable.js';
import type { RolloutBin, RolloutCard } from '../../rollout-card.js';
import { type Column, figure, intervalCell, type Table, withoutIntervalNote } from '../table.js';
import { driftTable, signedCells } from './drift-table.js';

/** The curves over all rows; by domain, too, where that is wanted. */
export function rolloutTables(card: RolloutCard, byDomain: boolean): Table[] {
  const [start, ...others] = card.starts;
  const isOne = start !== undefined && others.length === 0;
  return [
    distanceTable(card, byDomain, isOne ? start : undefined),
    ...(isOne ? [] : [stepTable(card)]),
    ...(card.drift === undefined ? [] : [driftTable(card.drift, card.measure)]),
  ];
}

function distanceTable(card: RolloutCard, byDomain: boolean, start: number | undefined): Table {
  const domains = (byDomain ? card.domains : []).map((part) => [`${domainName(part.domain)} `, part] as const);
  const parts = [...domains, ['', card.all] as const];
  const groups = parts.map(([name, part]) =>
    part.distances.map((bin) => binRow(`${name}${rangeText(bin)}`, bin, card, part.offScript === 0)),
  );
  const place = start === undefined || start === 0 ? '' : ` A turn's number is its distance plus ${start}.`;
  return {
    columns: columnsOf('Distance', card),
    groups,
    footnotes: [],
    legend: [
      `Distance: turns since the last true observation; 1 where all of the history was true.${place}`,
      ...legendFor(
        card,
        parts.flatMap(([, { distances }]) => distances),
      ),
    ],
  };
}

function stepTable(card: RolloutCard): Table {
  const { steps } = card.all;
  return {
    columns: columnsOf('Turn', card),
    groups: [steps.map((bin) => binRow(rangeText(bin), bin, card, false))],
    footnotes: [],
  };
}

function columnsOf(first: string, card: RolloutCard): Column[] {
  const align = 'right';
  const value = card.measure === undefined ? 'Score' : oneLine(card.measure, 16);
  return [
    { heading: first, short: first, align: 'left' },
    { heading: 'Rows', short: 'Rows', align },
    { heading: value, short: value, align },
    { heading: '95 % interval', short: '95 %', align },
    ...(hasOffScript(card) ? [{ heading: 'On script', short: 'On scr.', align } as const] : []),
    ...(card.drift === undefined ? [] : FORCED_COLUMNS),
  ];
}

const FORCED_COLUMNS: readonly Column[] = [
  { heading: 'Forced', short: 'Forced', align: 'right' },
  { heading: 'Change', short: 'Change', align: 'right' },
  { heading: '95 % interval', short: '95 %', align: 'right' },
];

function hasOffScript({ all }: RolloutCard): boolean {
  return all.offScript > 0;
}

/** @param isAllOnScript whether no row of its part is off-script, so that what is on script is the score */
function binRow(
  name: string,
  { score, onScript, paired }: RolloutBin,
  card: RolloutCard,
  isAllOnScript: boolean,
): string[] {
  return [
    name,
    String(score.rows),
    figure(score),
    intervalCell(score),
    ...(hasOffScript(card) ? [figure(isAllOnScript ? score : onScript)] : []),
    ...(card.drift === undefined ? [] : [figure(paired?.forced), ...signedCells(paired?.difference)]),
  ];
}

function rangeText({ from, to }: RolloutBin): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

function legendFor(card: RolloutCard, bins: readonly RolloutBin[]): string[] {
  const { predictions, offScript } = card.all;
  const apart = `On script: without the ${counted(offScript, 'prediction')} of ${predictions} whose recorded action refers to something that the rollout never showed (off-script).`;
  return [
    card.measure === undefined
      ? 'Score: Total, mean over rows. Only long trajectories reach far, so the rows of two distances are not the same.'
      : 'Means over rows. Only long trajectories reach far, so the rows of two distances are not the same.',
    ...(hasOffScript(card) ? [apart] : []),
    ...(card.drift === undefined
      ? []
      : ['Forced: the same rows predicted with true histories. Change: rollout less forced, row by row.']),
    ...withoutIntervalNote(bins.map(({ score }) => score)),
  ];
}
