// What a gate demands: the policy as a plain object (from YAML, JSON or flags) -> checked, with every default filled in. Also the evidence
// and the limits that it can refer to.

import { z } from 'zod';
import type { Cost } from '../core/costs.js';
import { PROVENANCE, type Provenance, TIERS, type Tier } from '../core/decision.js';
import { badData } from '../core/errors.js';
import { dollars } from '../core/printable.js';
import { faultsOf, keysError, mapping, oneOf, type Path } from '../core/schema.js';
import { DIMENSIONS, DOMAINS, type Domain, type ScoreCard } from '../core/types.js';
import type { Comparison } from './compare.js';
import { LEAST_COVERAGE, percent } from './coverage.js';
import type { RunRepeats, Schedule } from './looks.js';

interface Bound {
  readonly value: number;
  readonly tier: Tier;
}

/**
 * Bounds by what they apply to: `overall`, a domain, or `each_domain` for those without a bound of their own; with a dimension after a dot
 * (`terminal.format`) for that dimension instead of the total.
 */
export type Bounds = Readonly<Record<string, Bound>>;

export type Policy = ReturnType<typeof parsePolicy>;

export const OVERALL = 'overall';
export const EACH_DOMAIN = 'each_domain';

type Given = Readonly<Partial<Record<'maxDomainDrop' | 'alpha', number | undefined>>> & {
  readonly maxDrop?: number | null | undefined;
  readonly looks?: Schedule | undefined;
  readonly minScore?: Readonly<Record<string, number>>;
};

/**
 * The policy without a file: Overall decides, and a domain can only bring a NO-GO. By default Overall may lose 2 points, and a domain 5; if
 * `maxDrop` is null, nothing is compared with a base.
 * @throws UserError as `parsePolicy`.
 */
export function defaultPolicy(
  { maxDrop = 2, maxDomainDrop = 5, alpha, looks, minScore }: Given = {},
  domains?: readonly Domain[],
): Policy {
  const drops = { [OVERALL]: maxDrop, [EACH_DOMAIN]: { points: maxDomainDrop, tier: 'supporting' } };
  return parsePolicy({ alpha, looks, max_drop: maxDrop === null ? {} : drops, min_score: minScore }, domains);
}

interface Limit {
  /** Its key in a policy and in JSON. */
  readonly name: string;
  /** What it limits, in a sentence. */
  readonly what: string;
  /** The greatest sensible limit, in its unit, if there is one. */
  readonly most?: number;
  /** A value in its unit, as shown in a sentence and in a table. */
  text(value: number): string;
  /** What the candidate used, in its unit; undefined if it was not fully recorded. */
  used(evidence: Evidence): number | undefined;
}

/** The limits, in the order of display: the share of truncated predictions (0 to 1), completion tokens per row, US dollars for the run. */
export const LIMITS: readonly Limit[] = [
  { name: 'truncated_share', what: 'truncated predictions', most: 1, text: percent, used: truncatedShare },
  {
    name: 'tokens_per_row',
    what: 'completion tokens per row',
    text: (value) => String(Number(value.toFixed(1))),
    used: ({ usage }) => usage?.tokensPerRow,
  },
  { name: 'cost', what: 'cost', text: dollars, used: ({ usage }) => usedOf(usage?.cost) },
  { name: 'judge_cost', what: "judge's cost", text: dollars, used: ({ usage }) => usedOf(usage?.judgeCost) },
];

function usedOf({ usd, unpriced }: Bill = { unpriced: 0 }): number | undefined {
  return unpriced === 0 ? usd : undefined;
}

function truncatedShare({ candidate }: Evidence): number | undefined {
  const domains = candidate?.domains ?? [];
  const rows = domains.reduce((sum, { valid, failed }) => sum + valid + failed, 0);
  const truncated = domains.reduce((sum, { flags }) => sum + (flags.truncated ?? 0), 0);
  return rows === 0 ? undefined : truncated / rows;
}

/** US dollars; a lower bound if the cost of some rows is unknown. */
export type Bill = Pick<Cost, 'usd' | 'unpriced'>;

/** Everything that a gate may look at. Absent evidence fails only the critical rules that need it. */
export interface Evidence {
  /** The comparison with the base; without it `max_drop` has nothing to test. */
  readonly comparison?: Comparison;
  /** The candidate's own scores, for `min_score`, for the truncated share and for a published base. */
  readonly candidate?: ScoreCard;
  /** What the candidate's run took: completion tokens per row, including reasoning, and the cost of world model and judge. */
  readonly usage?: {
    readonly tokensPerRow?: number | undefined;
    readonly cost?: Bill | undefined;
    readonly judgeCost?: Bill | undefined;
  };
  /** What the two runs share; absent means unknown. */
  readonly shared?: Readonly<Partial<Record<Provenance, 'equal' | 'different'>>>;
  /** How many rows have impossible ratings, outside 1 to 5. A run that has any passes nothing. */
  readonly impossible?: { readonly base: number; readonly candidate: number };
  /** How many repeats the runs have, for a schedule of looks. */
  readonly repeats?: RunRepeats;
  /** A published row in place of a base run: totals of 0-100 by domain. Against it every rule is advisory. */
  readonly published?: { readonly name: string; readonly scores: Readonly<Record<Domain, number>> };
}

/** More repeats, and more looks, than anyone runs. */
const MOST_REPEATS = 100;
const MOST_LOOKS = 10;

/** The error for an invalid value, by its place in the policy, such as `max_drop.os.points`. */
function needed(what: string) {
  return {
    error: ({ path = [], input }: z.core.$ZodRawIssue) =>
      `${path.filter((step) => typeof step === 'string').join('.') || 'the policy'} has to be ${what}; it is ${input === undefined ? 'missing' : JSON.stringify(input)}`,
  };
}

function number(least: number, most: number) {
  const fault = needed(
    most === Number.POSITIVE_INFINITY ? `a number of at least ${least}` : `a number from ${least} to ${most}`,
  );
  return z.number(fault).min(least, fault).max(most, fault);
}

const tier = oneOf('tier', TIERS).default('critical');

/** A number, which is critical, or a mapping with its tier. */
const bound = z
  .preprocess(
    (value) => (typeof value === 'number' ? { points: value } : value),
    mapping('a bound that is not a number', { points: number(0, 100), tier }),
  )
  .transform(({ points, tier }): Bound => ({ value: points, tier }));

function limit(most = Number.POSITIVE_INFINITY) {
  return z
    .preprocess(
      (value) => (typeof value === 'number' ? { max: value } : value),
      mapping('a limit that is not a number', { max: number(0, most), tier }),
    )
    .transform(({ max, tier }): Bound => ({ value: max, tier }))
    .exactOptional();
}

/** The possible targets of shares and bounds, apart from Overall. */
function targetsOf(domains: readonly Domain[]): readonly string[] {
  return [EACH_DOMAIN, ...new Set<Domain>([...DOMAINS, ...domains])];
}

/** Values by known names. */
function named<Value extends z.ZodType>(known: readonly string[], value: Value) {
  const { error } = needed('a mapping');
  return z.partialRecord(z.enum(known), value, { error: keysError(known, error) }).transform(
    (found) =>
      // A name is either present with its value, or absent.
      found as Readonly<Record<string, z.infer<Value>>>,
  );
}

function bounds(domains: readonly Domain[]) {
  const targets = [OVERALL, ...targetsOf(domains)];
  const ofDimensions = targets.flatMap((target) => DIMENSIONS.map((dimension) => `${target}.${dimension}`));
  return named([...targets, ...ofDimensions], bound);
}

const LOOKS = needed(`a rising list of at most ${MOST_LOOKS} numbers of repeats up to ${MOST_REPEATS}, such as [1, 3]`);
const looks = z
  .array(z.int(LOOKS).max(MOST_REPEATS, LOOKS), LOOKS)
  .min(1, LOOKS)
  .max(MOST_LOOKS, LOOKS)
  .refine((list) => list.every((one, index) => one > (list[index - 1] ?? 0)), LOOKS);

export function policyForm(domains: readonly Domain[]) {
  const shares = named(targetsOf(domains), number(0, 1));
  return mapping('the policy', {
    /** Two-sided level of the intervals; with `looks` over all of them together. */
    alpha: number(1e-6, 0.5).default(0.05),
    /** The repeats at which the gate is asked, planned from the start (looks.ts); absent if it is asked once. */
    looks: looks.optional(),
    /** Points of 0-100 that the candidate may lose against the base. */
    max_drop: bounds(domains).default({}),
    /** The minimum score of the candidate itself, 0-100. */
    min_score: bounds(domains).default({}),
    /** Minimum share of rows, 0 to 1, by domain, or `each_domain`. */
    min_coverage: z
      .preprocess((value) => (typeof value === 'number' ? { [EACH_DOMAIN]: value } : value), shares)
      .default({}),
    require_equal: z
      .array(oneOf('provenance', PROVENANCE), needed(`a list of ${PROVENANCE.join(', ')}`))
      .default(['judge', 'rubric']),
    limits: mapping('limits', Object.fromEntries(LIMITS.map(({ name, most }) => [name, limit(most)]))).default({}),
  })
    .transform(({ max_drop: maxDrop, min_score: minScore, min_coverage, require_equal: requireEqual, ...rest }) => {
      const minCoverage: Readonly<Record<string, number>> = { [EACH_DOMAIN]: LEAST_COVERAGE, ...min_coverage };
      return { ...rest, maxDrop, minScore, minCoverage, requireEqual };
    })
    .refine(
      ({ maxDrop, minScore, limits }) => [maxDrop, minScore, limits].some((rules) => Object.keys(rules).length > 0),
      'the policy demands nothing; add max_drop, min_score or limits',
    );
}

/**
 * Checks a policy and fills in its defaults (`alpha` 0.05, `min_coverage` 0.99, `require_equal` judge and rubric). Only what it names is
 * tested. A bound is a number, which is critical, or `{ points, tier }` (`{ max, tier }` for a limit).
 * @param domains names of domains in addition to the published seven.
 * @param where returns the prefix of an error: the file, and the line of a path
 * @throws UserError 65 on unknown keys, with the nearest known one, and on values out of range; it names their paths.
 */
export function parsePolicy(value: unknown, domains: readonly Domain[] = [], where: (path: Path) => string = () => '') {
  const found = policyForm(domains).safeParse(value);
  if (found.success) return found.data;
  throw badData(
    faultsOf(found.error)
      .map(({ path, text }) => `${where(path)}${text}`)
      .join('\n'),
  );
}

/** What a policy states under a key, ignoring names from `Object.prototype`. */
export function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
