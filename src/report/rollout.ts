// What a rollout scores as tables and as JSON: by distance from the last true observation, where starts differ by step, too, and how it drifts.

import { estimateDocument } from '../core/document.js';
import { domainName, domainsOfMean, meanName } from '../core/domains.js';
import { counted, intervalText, signed } from '../core/figures.js';
import { oneLine } from '../core/printable.js';
import { type Column, columnsOf, figure, intervalCell, NONE, type Table, withoutIntervalNote } from '../core/table.js';
import type { Estimate } from '../core/types.js';
import type { Drift, DriftCard, Drifts, RolloutBin, RolloutCard, RolloutPart } from '../stats/rollout.js';

/** The curves over all rows; by domain, too, where that is wanted. */
export function rolloutTables(card: RolloutCard, byDomain: boolean): Table[] {
  const [start = 0, ...others] = card.starts;
  const isOne = card.starts.length === 1;
  const domains = (byDomain ? card.domains : []).map((part) => [`${domainName(part.domain)} `, part] as const);
  const parts = [...domains, ['', card.all] as const];
  const place = start === 0 || others.length > 0 ? '' : ` A turn's number is its distance plus ${start}.`;
  return [
    {
      columns: columnsUnder('Distance', card),
      groups: parts.map(([name, part]) =>
        part.distances.map((bin) => binRow(`${name}${rangeText(bin)}`, bin, card, part.offScript === 0)),
      ),
      footnotes: [],
      legend: [
        `Distance: turns since the last true observation; 1 where all of the history was true.${place}`,
        ...legendFor(card),
        ...withoutIntervalNote(parts.flatMap(([, { distances }]) => distances).map(({ score }) => score)),
      ],
    },
    ...(isOne
      ? []
      : [
          {
            columns: columnsUnder('Turn', card),
            groups: [card.all.steps.map((bin) => binRow(rangeText(bin), bin, card, false))],
            footnotes: [],
          },
        ]),
    ...(card.drift === undefined ? [] : [driftTable(card.drift, card.measure)]),
  ];
}

const INTERVAL = '95 % interval|95 %';
const ON_SCRIPT = 'On script|On scr.';

function columnsUnder(first: string, { measure, all, drift }: RolloutCard): Column[] {
  const heading = measure === undefined ? 'Score' : oneLine(measure, 16);
  const further = [
    INTERVAL,
    ...(all.offScript > 0 ? [ON_SCRIPT] : []),
    ...(drift === undefined ? [] : ['Forced', 'Change', INTERVAL]),
  ];
  return [
    ...columnsOf(`<${first}, Rows`),
    { heading, short: heading, align: 'right' },
    ...columnsOf(further.join(', ')),
  ];
}

/** @param isAllOnScript whether no row of its part is off-script, so that what is on script is the score */
function binRow(name: string, bin: RolloutBin, { all, drift }: RolloutCard, isAllOnScript: boolean): string[] {
  const { score, onScript, paired } = bin;
  return [
    ...[name, String(score.rows), figure(score), intervalCell(score)],
    ...(all.offScript > 0 ? [figure(isAllOnScript ? score : onScript)] : []),
    ...(drift === undefined ? [] : [figure(paired?.forced), ...signedCells(paired?.difference)]),
  ];
}

function rangeText({ from, to }: RolloutBin): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

function legendFor({ measure, all: { predictions, offScript }, drift }: RolloutCard): string[] {
  return [
    `${measure === undefined ? 'Score: Total, mean' : 'Means'} over rows. Only long trajectories reach far, so the rows of two distances are not the same.`,
    ...(offScript === 0
      ? []
      : [
          `On script: without the ${counted(offScript, 'prediction')} of ${predictions} whose recorded action refers to something that the rollout never showed (off-script).`,
        ]),
    ...(drift === undefined
      ? []
      : ['Forced: the same rows predicted with true histories. Change: rollout less forced, row by row.']),
  ];
}

/** A line for each domain, and one for their mean. @param measure what is told of, where nothing was rated */
function driftTable(drift: DriftCard, measure: string | undefined): Table {
  const hasOnScript = drift.overall.onScript !== undefined;
  const row = (name: string, { all, onScript }: Drifts) => [
    ...[name, String(all?.slope?.rows ?? 0), String(all?.slope?.clusters ?? 0), ...signedCells(all?.slope)],
    ...(hasOnScript ? [signedCells(onScript?.slope)[0]] : []),
    ...signedCells(all?.difference),
  ];
  const slopes = [...drift.domains, drift.overall].map(({ all }) => all?.slope);
  return {
    columns: columnsOf(
      `<Drift, Rows, Traj., A step, ${INTERVAL}, ${hasOnScript ? `${ON_SCRIPT}, ` : ''}Change, ${INTERVAL}`,
    ),
    groups: [
      drift.domains.map(({ domain, ...drifts }) => row(domainName(domain), drifts)),
      [row(overallDriftName(drift), drift.overall)],
    ],
    footnotes:
      drift.unpaired === 0
        ? []
        : [`${counted(drift.unpaired, 'row')} of the rollout without a teacher-forced partner, left out here.`],
    legend: [
      `A step: how many points${measure === undefined ? '' : ` of ${oneLine(measure, 16)}`} the rollout loses (below 0) or gains each step against the teacher-forced predictions of the same rows: the slope of the paired difference within trajectories, its interval clustered by these. Change: the paired difference, mean over rows.`,
      ...withoutIntervalNote(slopes),
    ],
  };
}

/** A difference, and its interval. */
function signedCells(estimate: Estimate | undefined): [string, string] {
  if (estimate === undefined) return [NONE, NONE];
  return [signed(estimate.value), intervalText(estimate, signed) ?? NONE];
}

/** What the mean over the domains that have a drift is called. */
export function overallDriftName({ domains }: DriftCard): string {
  const having = domains.filter(({ all }) => all?.slope !== undefined).map(({ domain }) => domain);
  return meanName(having, domainsOfMean(having).length);
}

/** The member `rollout` of a scored run's document. */
export function rolloutDocument({ measure, starts, all, domains, drift }: RolloutCard) {
  return {
    measure: measure ?? null,
    from: starts,
    ...partDocument(all),
    domains: Object.fromEntries(domains.map(({ domain, ...part }) => [domain, partDocument(part)])),
    drift: drift && {
      paired: drift.paired,
      unpaired: drift.unpaired,
      domains: Object.fromEntries(drift.domains.map(({ domain, ...drifts }) => [domain, driftsDocument(drifts)])),
      overall: driftsDocument(drift.overall),
    },
  };
}

function partDocument({ predictions, offScript: off_script, chains, distances, steps }: RolloutPart) {
  return { predictions, off_script, chains, by_distance: distances.map(binDocument), by_step: steps.map(binDocument) };
}

/** What a bin lacks is no member of its document. */
function binDocument({ from, to, score, onScript, paired }: RolloutBin) {
  return {
    ...{ from, to, score: estimateDocument(score) },
    on_script: onScript && estimateDocument(onScript),
    teacher_forced: paired && estimateDocument(paired.forced),
    difference: paired && estimateDocument(paired.difference),
  };
}

function driftsDocument({ all, onScript }: Drifts) {
  const figures = ({ slope, difference }: Partial<Drift> = {}) => ({
    slope: slope ? estimateDocument(slope) : null,
    difference: difference ? estimateDocument(difference) : null,
  });
  return { ...figures(all), on_script: onScript && figures(onScript) };
}
