// The results of a run on scenarios: by domain, by scenario, by both, and overall.

import { z } from 'zod';
import { COUNT, ESTIMATE, estimateDocument, keyed } from '../core/document.js';
import { domainsOfMean, inDomains, inTableOrder } from '../core/domains.js';
import { countBy, groupBy, keysOf, recordOf, type Some } from '../core/groups.js';
import { SCENARIO_MEASURES, type ScenarioMeasure, type ScenarioRow } from '../core/scenario-row.js';
import type { Domain, Estimate } from '../core/types.js';
import { clusteredEstimate, meanOfEstimates } from './clusters.js';
import { bounded } from './intervals.js';

const NAMES = keysOf(SCENARIO_MEASURES);

/**
 * The results of some rows: those of one scenario, of one domain, of one scenario in one domain, or all. A measure that no row has is null.
 */
const PART = z.strictObject({
  /** Rows with a scenario, including those about which nothing is known. */
  ...keyed(COUNT, 'samples', 'trajectories'),
  /** Rows without a prediction, by class: those that the model caused count as not followed, the others are missing. */
  failures: z.record(z.string(), COUNT),
  ...keyed(ESTIMATE.nullable(), ...NAMES),
});
export type ScenarioPart = z.infer<typeof PART>;

/** The complete results of a run on scenarios, as `--json` prints them; whoever prints them adds its own fields. */
export const SCENARIOS = z.strictObject({
  schema: z.literal('awb.scenarios/1'),
  /** The mean of the domains. */
  overall: PART,
  domains: z.record(z.string(), PART),
  /** Over all domains equally, each row counting once; and in each domain. */
  scenarios: z.record(z.string(), PART.extend({ domains: z.record(z.string(), PART) })),
});
export type ScenarioFigures = z.infer<typeof SCENARIOS>;

/**
 * A figure is the mean over the rows that have it, each counting once, with the interval of a score clustered by trajectory (clusters.ts):
 * a row occurs in several scenarios, and rows of one trajectory are not independent either. If all rows are at 0 or at 100, the bounds of
 * `boundsOf` replace the interval. The overall figures are the unweighted means of the domains, of the seven published ones only if all are
 * present. Scenarios are sorted by domain, and then by name.
 */
export function scenarioFigures(rows: readonly ScenarioRow[]): ScenarioFigures {
  const byDomain = inDomains(rows).map(([domain, own]) => ({ domain, own, figures: figuresOf(own) }));
  const behind = domainsOfMean(byDomain.map(({ domain }) => domain));
  const byScenario = [...groupBy(rows, ({ scenario }) => scenario)].sort(
    ([a, own], [b, others]) => inTableOrder(firstDomain(own), firstDomain(others)) || (a < b ? -1 : 1),
  );
  const means = meansOf(byDomain.flatMap(({ domain, figures }) => (behind.includes(domain) ? [figures] : [])));
  return {
    schema: 'awb.scenarios/1',
    overall: partOf(rows, means),
    domains: Object.fromEntries(byDomain.map(({ domain, own, figures }) => [domain, partOf(own, figures)])),
    scenarios: Object.fromEntries(
      byScenario.map(([scenario, own]) => {
        const domains = inDomains(own).map(([domain, both]) => [domain, partOf(both, figuresOf(both))] as const);
        return [scenario, { ...partOf(own, figuresOf(own)), domains: Object.fromEntries(domains) }];
      }),
    ),
  };
}

/** Of the domains of these rows, the one that tables list first. */
function firstDomain(rows: Some<ScenarioRow>): Domain {
  return rows.map(({ domain }) => domain).reduce((a, b) => (inTableOrder(a, b) <= 0 ? a : b));
}

/** Unknown values are undefined. */
type Figures = Readonly<Record<ScenarioMeasure, Estimate | undefined>>;

function partOf(rows: readonly ScenarioRow[], figures: Figures): ScenarioPart {
  return {
    samples: rows.length,
    trajectories: new Set(rows.map(({ trajectory }) => trajectory)).size,
    failures: countBy(rows.flatMap(({ failure }) => failure?.class ?? [])),
    ...recordOf(NAMES, (name) => {
      const { [name]: estimate } = figures;
      return estimate === undefined ? null : estimateDocument(estimate);
    }),
  };
}

function figuresOf(rows: readonly ScenarioRow[]): Figures {
  return recordOf(NAMES, (name) => {
    const found = rows.flatMap(({ measures, trajectory: cluster }) => {
      const value = measures?.[name];
      return value === undefined ? [] : [{ value, cluster }];
    });
    return found.length === 0 ? undefined : bounded(clusteredEstimate(found, 'score'), [0, 100]);
  });
}

function meansOf(domains: readonly Figures[]): Figures {
  return recordOf(NAMES, (name) => {
    const found = domains.flatMap(({ [name]: own }) => own ?? []);
    return found.length === 0 ? undefined : meanOfEstimates(found, 'score');
  });
}
