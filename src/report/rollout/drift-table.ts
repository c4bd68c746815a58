// How fast a rollout drifts from its teacher-forced partner, as a table.

import { domainName, domainsOfMean, meanName } from '../../domains.js';
import { counted, intervalText, signed } from '../../figures.js';
import { oneLine } from '../../printable.js';
import type { DriftCard, Drifts } from '../../rollout-card.js';
import type { Estimate } from '../../types.js';
import { type Column, NONE, type Table, withoutIntervalNote } from '../table.js';

/** A line for each domain, and one for their mean. @param measure what is told of, where nothing was rated */
export function driftTable(drift: DriftCard, measure: string | undefined): Table {
  const hasOnScript = drift.overall.onScript !== undefined;
  const rows = drift.domains.map(({ domain, ...drifts }) => driftRow(domainName(domain), drifts, hasOnScript));
  const mean = driftRow(overallDriftName(drift), drift.overall, hasOnScript);
  const estimates = [...drift.domains, drift.overall].map(({ all }) => all?.slope);
  return {
    columns: columnsOf(hasOnScript),
    groups: [rows, [mean]],
    footnotes:
      drift.unpaired === 0
        ? []
        : [`${counted(drift.unpaired, 'row')} of the rollout without a teacher-forced partner, left out here.`],
    legend: [
      `A step: how many points${measure === undefined ? '' : ` of ${oneLine(measure, 16)}`} the rollout loses (below 0) or gains each step against the teacher-forced predictions of the same rows: the slope of the paired difference within trajectories, its interval clustered by these. Change: the paired difference, mean over rows.`,
      ...withoutIntervalNote(estimates.filter((estimate) => estimate !== undefined)),
    ],
  };
}

/** What the mean over the domains that have a drift is called. */
export function overallDriftName({ domains }: DriftCard): string {
  const having = domains.filter(({ all }) => all?.slope !== undefined).map(({ domain }) => domain);
  return meanName(having, domainsOfMean(having).length);
}

function columnsOf(hasOnScript: boolean): Column[] {
  const align = 'right';
  return [
    { heading: 'Drift', short: 'Drift', align: 'left' },
    { heading: 'Rows', short: 'Rows', align },
    { heading: 'Traj.', short: 'Traj.', align },
    { heading: 'A step', short: 'A step', align },
    { heading: '95 % interval', short: '95 %', align },
    ...(hasOnScript ? [{ heading: 'On script', short: 'On scr.', align } as const] : []),
    { heading: 'Change', short: 'Change', align },
    { heading: '95 % interval', short: '95 %', align },
  ];
}

function driftRow(name: string, { all, onScript }: Drifts, hasOnScript: boolean): string[] {
  return [
    name,
    String(all?.slope?.rows ?? 0),
    String(all?.slope?.clusters ?? 0),
    ...signedCells(all?.slope),
    ...(hasOnScript ? [signedCells(onScript?.slope)[0]] : []),
    ...signedCells(all?.difference),
  ];
}

/** A difference, and its interval. */
export function signedCells(estimate: Estimate | undefined): [string, string] {
  if (estimate === undefined) return [NONE, NONE];
  return [signed(estimate.value), intervalText(estimate, signed) ?? NONE];
}
