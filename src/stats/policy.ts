// What a gate demands: the policy as a plain object (of YAML, JSON or flags) -> checked, with every default filled in.

import { z } from 'zod';
import { PROVENANCE, type Provenance, TIERS, type Tier } from '../core/decision.js';
import { EXIT, UserError } from '../core/errors.js';
import { canonicalJson } from '../core/json.js';
import { faultsOf, keysError, mapping, oneOf, type Path } from '../core/schema.js';
import { DIMENSIONS, DOMAINS, type Domain } from '../core/types.js';
import { LEAST_COVERAGE } from './coverage.js';
import { LIMITS } from './limits.js';
import type { Schedule } from './looks.js';

export interface Bound {
  readonly value: number;
  readonly tier: Tier;
}

/**
 * Bounds by what they hold for: `overall`, a domain, or `each_domain` for those without a bound of their own; with a dimension
 * behind a dot (`terminal.format`) for that dimension instead of the total.
 */
export type Bounds = Readonly<Record<string, Bound>>;

export interface Policy {
  /** Two-sided level of the intervals; with `looks` over all of them together. */
  readonly alpha: number;
  /** The repeats after which the gate is asked, named from the start (looks.ts); absent where it is asked once. */
  readonly looks?: Schedule;
  /** Points of 0-100 that the candidate may lose against the base. */
  readonly maxDrop: Bounds;
  /** The least score of the candidate itself, 0-100. */
  readonly minScore: Bounds;
  /** Least share of rows, 0 to 1, by domain, or `each_domain`. */
  readonly minCoverage: Readonly<Record<string, number>>;
  readonly requireEqual: readonly Provenance[];
  /** By the names of the limits (limits.ts). */
  readonly limits: Readonly<Record<string, Bound>>;
}

export const OVERALL = 'overall';
export const EACH_DOMAIN = 'each_domain';

const DEFAULTS = { alpha: 0.05, minCoverage: LEAST_COVERAGE, requireEqual: ['judge', 'rubric'] } as const;

/** What can be asked of the policy without a file. */
interface DefaultPolicy {
  /** Points that Overall may lose, 2 where absent. */
  readonly maxDrop?: number | undefined;
  /** Points that a domain may lose, 5 where absent. */
  readonly maxDomainDrop?: number | undefined;
  readonly alpha?: number | undefined;
  readonly looks?: Schedule | undefined;
}

/** The policy without a file: Overall decides, and a domain can only bring a NO-GO. */
export function defaultPolicy({ maxDrop = 2, maxDomainDrop = 5, alpha, looks }: DefaultPolicy = {}): Policy {
  return parsePolicy({
    alpha,
    looks,
    max_drop: { [OVERALL]: maxDrop, [EACH_DOMAIN]: { points: maxDomainDrop, tier: 'supporting' } },
  });
}

/** More repeats than anyone runs, and more looks. */
const MOST_REPEATS = 100;
const MOST_LOOKS = 10;

/** The fault of a value that has to be something else, by its place in the policy, such as `max_drop.os.points`. */
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

function limit(most: number) {
  return z
    .preprocess(
      (value) => (typeof value === 'number' ? { max: value } : value),
      mapping('a limit that is not a number', { max: number(0, most), tier }),
    )
    .transform(({ max, tier }): Bound => ({ value: max, tier }))
    .exactOptional();
}

/** What shares and bounds can be stated for, beside Overall. */
function targetsOf(domains: readonly Domain[]): readonly string[] {
  return [EACH_DOMAIN, ...new Set<Domain>([...DOMAINS, ...domains])];
}

/** Values by known names. */
function named<Value extends z.ZodType>(known: readonly string[], value: Value) {
  const { error } = needed('a mapping');
  return z.partialRecord(z.enum(known), value, { error: keysError(known, error) }).transform(
    (found) =>
      // A name is there with its value, or not at all.
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

function policyForm(domains: readonly Domain[]) {
  const shares = named(targetsOf(domains), number(0, 1));
  return mapping('the policy', {
    alpha: number(1e-6, 0.5).default(DEFAULTS.alpha),
    looks: looks.optional(),
    max_drop: bounds(domains).default({}),
    min_score: bounds(domains).default({}),
    min_coverage: z
      .preprocess((value) => (typeof value === 'number' ? { [EACH_DOMAIN]: value } : value), shares)
      .default({}),
    require_equal: z
      .array(oneOf('provenance', PROVENANCE), needed(`a list of ${PROVENANCE.join(', ')}`))
      .default([...DEFAULTS.requireEqual]),
    limits: mapping('limits', Object.fromEntries(LIMITS.map(({ name, most }) => [name, limit(most)]))).default({}),
  })
    .transform(
      ({ alpha, looks, max_drop, min_score, min_coverage, require_equal, limits }): Policy => ({
        alpha,
        ...(looks === undefined ? {} : { looks }),
        maxDrop: max_drop,
        minScore: min_score,
        minCoverage: { [EACH_DOMAIN]: DEFAULTS.minCoverage, ...min_coverage },
        requireEqual: require_equal,
        limits,
      }),
    )
    .refine(
      ({ maxDrop, minScore, limits }) => [maxDrop, minScore, limits].some((rules) => Object.keys(rules).length > 0),
      'the policy demands nothing; give it max_drop, min_score or limits',
    );
}

function read<Form extends z.ZodType>(
  form: Form,
  value: unknown,
  where: (path: Path) => string = () => '',
): z.infer<Form> {
  const found = form.safeParse(value);
  if (found.success) return found.data;
  const faults = faultsOf(found.error).map(({ path, text }) => `${where(path)}${text}`);
  throw new UserError(faults.join('\n'), EXIT.badData);
}

/**
 * Checks a policy and fills in its defaults (`alpha` 0.05, `min_coverage` 0.99, `require_equal` judge and rubric). Only what it
 * names is tested. A bound is a number, which is critical, or `{ points, tier }` (`{ max, tier }` for a limit).
 * @param domains names of domains beside the published seven.
 * @param where what stands before a fault: the file, and the line of a path
 * @throws UserError 65 on unknown keys, with the nearest known one, and on values out of range; it names their paths.
 */
export function parsePolicy(value: unknown, domains: readonly Domain[] = [], where?: (path: Path) => string): Policy {
  return read(policyForm(domains), value, where);
}

/** The repeats after which the gate is asked. @throws UserError (65) where they are no rising numbers. */
export function parseLooks(value: unknown): Schedule {
  return read(looks, value);
}

/**
 * The least scores that a policy names.
 * @param domains names of domains beside the published seven.
 * @throws UserError 65 on an unknown domain, with the nearest known one, and on a score out of range.
 */
export function parseFloors(value: unknown, domains: readonly Domain[]): Bounds {
  return read(bounds(domains), value);
}

/** One text for one policy, whatever the order of its keys. Fingerprints are taken of it. */
export function canonicalPolicy(policy: Policy): string {
  return canonicalJson(policy);
}

/** What a policy states under a key, names from `Object.prototype` aside. */
export function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
