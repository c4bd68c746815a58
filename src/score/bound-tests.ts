// What the bounds of a policy demand of the evidence: figures that have to be at least so much.

import type { Figure } from '../comparison.js';
import type { Tier } from '../decision.js';
import { domainsOfMean, isPublished } from '../domains.js';
import { twoDecimals } from '../figures.js';
import { DIMENSIONS, type Dimension, DOMAINS, type Domain, type Estimate, type VarianceSplit } from '../types.js';
import { meanOfEstimates } from './clusters.js';
import type { Evidence } from './limits.js';
import { mean } from './mean.js';
import { type Bound, type Bounds, EACH_DOMAIN, OVERALL, ownOf, type Policy } from './policy.js';

/** A figure that has to be at least its bound. */
export interface Test {
  /** The rule in JSON. */
  readonly kind: string;
  /** What the figure is: a difference of -100 to 100 points, or a score. */
  readonly scale: 'difference' | 'score';
  readonly target: Target;
  readonly tier: Tier;
  readonly bound: number;
  /** Absent where there is nothing to test. */
  readonly estimate?: Estimate | undefined;
  readonly split?: VarianceSplit | undefined;
  /** Of a difference: what the runs score. */
  readonly sides?: { readonly base: number; readonly candidate: number } | undefined;
  readonly texts: {
    /** What to call the target in a sentence. */
    readonly target: string;
    /** What the rule is called behind its target: where it stands alone, and in a table, where drops need no word. */
    readonly rule: string;
    readonly column?: string;
    /** What is demanded, behind the figure. */
    readonly demand: string;
    /** What there is none of where there is nothing to test. */
    readonly lacking: string;
  };
}

interface Target {
  readonly domain?: Domain;
  readonly dimension?: Dimension;
}

/** What `max_drop` demands: of the difference to the base, or to a published row in its place. */
export function dropTests(evidence: Evidence, policy: Policy): Test[] {
  const { comparison, published } = evidence;
  if (comparison === undefined && published !== undefined) {
    return publishedTests(evidence, policy, published);
  }
  const all = comparison?.domains ?? [];
  const domains = all.map(({ domain }) => domain);
  const compared = all.filter(({ figures }) => figures.total !== undefined).map(({ domain }) => domain);
  return targetsOf(policy.maxDrop, domains).map(({ target, bound }) => {
    const figure: Figure = target.dimension ?? 'total';
    const set =
      target.domain === undefined
        ? comparison?.overall
        : comparison?.domains.find(({ domain }) => domain === target.domain)?.figures;
    return {
      kind: 'drop',
      scale: 'difference',
      target,
      tier: bound.tier,
      bound: -bound.value,
      estimate: set?.[figure]?.difference,
      split: set?.[figure]?.split,
      sides: set?.[figure],
      texts: {
        target: nameOf(target, comparison?.macroOf, compared),
        rule: 'drop',
        demand: `it may lose ${twoDecimals(bound.value)}`,
        lacking: 'no row that both runs rated',
      },
    };
  });
}

/** Published rows have only totals. Overall is compared over the domains that both have, so a run of some can be too. */
function publishedTests(
  { candidate }: Evidence,
  policy: Policy,
  { name, scores }: NonNullable<Evidence['published']>,
): Test[] {
  const both = (candidate?.domains ?? []).flatMap(({ domain, withFailures: { total } }) => {
    const score = ownOf(scores, domain);
    return score === undefined || total === undefined ? [] : [{ domain, score, total }];
  });
  const targets = targetsOf(
    policy.maxDrop,
    both.map(({ domain }) => domain),
  ).filter(({ target }) => target.dimension === undefined);
  return targets.map(({ target, bound }) => {
    const parts = both.filter(({ domain }) => target.domain === undefined || domain === target.domain);
    const score = parts.length === 0 ? Number.NaN : mean(parts.map((part) => part.score));
    return {
      kind: 'published',
      scale: 'score',
      target,
      tier: 'advisory',
      bound: score - bound.value,
      estimate:
        parts.length === 0
          ? undefined
          : meanOfEstimates(
              parts.map((part) => part.total),
              'score',
            ),
      texts: {
        target: nameOf(
          target,
          both.length,
          both.map(({ domain }) => domain),
        ),
        rule: 'against published',
        demand: `against the published ${twoDecimals(score)} of ${name}, of which ${twoDecimals(bound.value)} may be lost`,
        lacking: 'no score on both sides',
      },
    };
  });
}

/** What `min_score` demands. */
export function floorTests({ candidate }: Evidence, policy: Policy): Test[] {
  const all = candidate?.domains ?? [];
  const domains = all.map(({ domain }) => domain);
  const scored = all.filter(({ withFailures }) => withFailures.total !== undefined).map(({ domain }) => domain);
  return targetsOf(policy.minScore, domains).map(({ target, bound }) => {
    const set =
      target.domain === undefined
        ? candidate?.overallWithFailures
        : candidate?.domains.find(({ domain }) => domain === target.domain)?.withFailures;
    return {
      kind: 'floor',
      scale: 'score',
      target,
      tier: bound.tier,
      bound: bound.value,
      estimate: set?.[target.dimension ?? 'total'],
      texts: {
        target: nameOf(target, candidate === undefined ? undefined : domainsOfMean(scored).length, scored),
        rule: 'floor',
        column: 'floor',
        demand: `it has to reach ${twoDecimals(bound.value)}`,
        lacking: 'no score',
      },
    };
  });
}

/** The rules that bounds state: for Overall, for each domain at hand, and for domains that are named though not at hand. */
function targetsOf(bounds: Bounds, domains: readonly Domain[]): { target: Target; bound: Bound }[] {
  return [undefined, ...DIMENSIONS].flatMap((dimension) => {
    const suffix = dimension === undefined ? '' : `.${dimension}`;
    const named = Object.keys(bounds).flatMap((key) => domainIn(key, dimension) ?? []);
    const all = [undefined, ...new Set([...domains, ...named])];
    return all.flatMap((domain) => {
      const own = ownOf(bounds, `${domain ?? OVERALL}${suffix}`);
      const bound = own ?? (domain === undefined ? undefined : ownOf(bounds, `${EACH_DOMAIN}${suffix}`));
      const target = { ...(domain === undefined ? {} : { domain }), ...(dimension === undefined ? {} : { dimension }) };
      return bound === undefined ? [] : [{ target, bound }];
    });
  });
}

/** The domain of a key such as `terminal` or `terminal.format`, where it is one and is about this dimension. */
function domainIn(key: string, dimension: Dimension | undefined): Domain | undefined {
  const found = DIMENSIONS.find((one) => key.endsWith(`.${one}`));
  const name = found === undefined ? key : key.slice(0, -found.length - 1);
  return found === dimension && name !== OVERALL && name !== EACH_DOMAIN ? name : undefined;
}

/** @param scored the domains at hand that have a total */
function nameOf({ domain, dimension }: Target, macroOf: number | undefined, scored: readonly Domain[]): string {
  const isOverall = macroOf === undefined || (macroOf === DOMAINS.length && domainsOfMean(scored).every(isPublished));
  const whole = isOverall ? 'Overall' : `Overall (macro of ${macroOf})`;
  return [domain ?? whole, ...(dimension === undefined ? [] : [dimension])].join(' ');
}

/** Tests that count, other than Overall's drop, share one level for their breaches. */
export function isInFamily(test: Test): boolean {
  return test.tier !== 'advisory' && !isOverallDrop(test);
}

export function isOverallDrop({ scale, target }: Test): boolean {
  return scale === 'difference' && target.domain === undefined && target.dimension === undefined;
}
