// What the rows of a run on scenarios come to: by domain, by scenario, by both, and in all.

import { domainsOfMean, inTableOrder } from '../domains.js';
import { countBy, groupBy, type Some } from '../groups.js';
import { keysOf } from '../keys.js';
import { SCENARIO_MEASURES, type ScenarioFigures, type ScenarioPart, type ScenarioRow } from '../scenario-row.js';
import type { Domain } from '../types.js';
import { clusteredEstimate, meanOfEstimates } from './clusters.js';
import { bounded } from './intervals.js';

const NAMES = keysOf(SCENARIO_MEASURES);

/**
 * A figure is the mean over the rows that have it, each counting once, with the interval of a score clustered by trajectory
 * (clusters.ts): a row stands under several scenarios, and rows of one trajectory are not independent either. Where all rows are at 0
 * or at 100 the bounds of `boundsOf` take the interval's place. The figures in all are the unweighted means of the
 * domains, of the seven published ones alone where all are there.
 * Scenarios come by their domain, and then by name.
 */
export function scenarioFigures(rows: readonly ScenarioRow[]): ScenarioFigures {
  const byDomain = [...groupBy(rows, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  const byScenario = [...groupBy(rows, ({ scenario }) => scenario)].sort(
    ([a, own], [b, others]) => inTableOrder(firstDomain(own), firstDomain(others)) || (a < b ? -1 : 1),
  );
  const domains = byDomain.map(([domain, own]) => ({ ...partOf(own), domain }));
  const behind = domainsOfMean(domains.map(({ domain }) => domain));
  return {
    overall: { ...countsOf(rows), figures: meansOf(domains.filter(({ domain }) => behind.includes(domain))) },
    domains,
    scenarios: byScenario.map(([scenario, own]) => ({ ...partOf(own), scenario })),
    cells: byScenario.flatMap(([scenario, own]) =>
      [...groupBy(own, ({ domain }) => domain)]
        .sort(([a], [b]) => inTableOrder(a, b))
        .map(([domain, both]) => ({ ...partOf(both), scenario, domain })),
    ),
  };
}

/** Of the domains of these rows, the one that tables list first. */
function firstDomain(rows: Some<ScenarioRow>): Domain {
  return rows.map(({ domain }) => domain).reduce((a, b) => (inTableOrder(a, b) <= 0 ? a : b));
}

function partOf(rows: Some<ScenarioRow>): ScenarioPart {
  return { ...countsOf(rows), figures: figuresOf(rows) };
}

function countsOf(rows: readonly ScenarioRow[]): Omit<ScenarioPart, 'figures'> {
  return {
    samples: rows.length,
    trajectories: new Set(rows.map(({ trajectory }) => trajectory)).size,
    failures: countBy(
      rows.flatMap(({ failure }) => failure?.class ?? []),
      String,
    ),
  };
}

function figuresOf(rows: readonly ScenarioRow[]): ScenarioPart['figures'] {
  const figures: { -readonly [K in keyof ScenarioPart['figures']]: ScenarioPart['figures'][K] } = {};
  for (const name of NAMES) {
    const found = rows.flatMap(({ measures, trajectory: cluster }) => {
      const value = measures?.[name];
      return value === undefined ? [] : [{ value, cluster }];
    });
    if (found.length > 0) figures[name] = bounded(clusteredEstimate(found, 'score'), [0, 100]);
  }
  return figures;
}

function meansOf(domains: readonly ScenarioPart[]): ScenarioPart['figures'] {
  const figures: { -readonly [K in keyof ScenarioPart['figures']]: ScenarioPart['figures'][K] } = {};
  for (const name of NAMES) {
    const found = domains.flatMap(({ figures: own }) => own[name] ?? []);
    if (found.length > 0) figures[name] = meanOfEstimates(found, 'score');
  }
  return figures;
}
