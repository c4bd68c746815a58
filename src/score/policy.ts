// What a gate demands: the policy as a plain object (of YAML, JSON or flags) -> checked, with every default filled in.
import { LEAST_COVERAGE } from '../coverage.js';
import { PROVENANCE, type Provenance, TIERS, type Tier } from '../decision.js';
import { EXIT, nearest, UserError } from '../errors.js';
import { canonicalJson, isObject, type JsonObject } from '../json.js';
import { DIMENSIONS, DOMAINS, type Domain } from '../types.js';
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
const KEYS = ['alpha', 'looks', 'max_drop', 'min_score', 'min_coverage', 'require_equal', 'limits'] as const;

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

/**
 * Checks a policy and fills in its defaults (`alpha` 0.05, `min_coverage` 0.99, `require_equal` judge and rubric). Only what it
 * names is tested. A bound is a number, which is critical, or `{ points, tier }` (`{ max, tier }` for a limit).
 * @param domains names of domains beside the published seven.
 * @throws UserError 65 on an unknown key, with the nearest known one, and on a value out of range; it names the key's path.
 */
export function parsePolicy(value: unknown, domains: readonly Domain[] = []): Policy {
  const policy = objectAt(value, 'the policy');
  refuseUnknown(policy, KEYS, 'the policy');
  const parsed: Policy = {
    alpha: policy.alpha === undefined ? DEFAULTS.alpha : numberAt(policy.alpha, 'alpha', 1e-6, 0.5),
    ...(policy.looks === undefined ? {} : { looks: parseLooks(policy.looks) }),
    maxDrop: boundsAt(policy.max_drop, 'max_drop', domains),
    minScore: parseFloors(policy.min_score, domains),
    minCoverage: coverageAt(policy.min_coverage, domains),
    requireEqual: provenanceAt(policy.require_equal),
    limits: limitsAt(policy.limits),
  };
  if ([parsed.maxDrop, parsed.minScore, parsed.limits].every((rules) => Object.keys(rules).length === 0)) {
    throw bad('the policy demands nothing; give it max_drop, min_score or limits');
  }
  return parsed;
}

/** One text for one policy, whatever the order of its keys. Fingerprints are taken of it. */
export function canonicalPolicy(policy: Policy): string {
  return canonicalJson(policy);
}

function bad(message: string): UserError {
  return new UserError(message, EXIT.badData);
}

function objectAt(value: unknown, where: string): JsonObject {
  if (!isObject(value)) {
    throw bad(`${where} has to be a list of keys and values; it is ${shown(value)}`);
  }
  return value;
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}

function refuseUnknown(object: JsonObject, known: readonly string[], where: string): void {
  for (const key of Object.keys(object)) {
    if (!known.includes(key)) {
      const near = nearest(key, known);
      const hint = near === undefined ? `it knows ${known.join(', ')}` : `did you mean "${near}"?`;
      throw bad(`${where} has an unknown key "${key}"; ${hint}`);
    }
  }
}

function numberAt(value: unknown, where: string, least: number, most: number): number {
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    const range = most === Number.POSITIVE_INFINITY ? `of at least ${least}` : `from ${least} to ${most}`;
    throw bad(`${where} has to be a number ${range}; it is ${shown(value)}`);
  }
  return value;
}

/** More repeats than anyone runs, and more looks. */
const MOST_REPEATS = 100;
const MOST_LOOKS = 10;

/** The repeats after which the gate is asked. @throws UserError (65) where they are no rising numbers. */
export function parseLooks(value: unknown): Schedule {
  const isRising = (looks: readonly unknown[]) =>
    looks.every((one, index) => Number.isInteger(one) && Number(one) > Number(looks[index - 1] ?? 0));
  if (
    !Array.isArray(value) ||
    value.length === 0 ||
    value.length > MOST_LOOKS ||
    !isRising(value) ||
    value.at(-1) > MOST_REPEATS
  ) {
    throw bad(
      `looks has to be a rising list of at most ${MOST_LOOKS} numbers of repeats up to ${MOST_REPEATS}, such as [1, 3]; it is ${shown(value)}`,
    );
  }
  return value;
}

/**
 * The least scores that a policy names.
 * @param domains names of domains beside the published seven.
 * @throws UserError 65 on an unknown domain, with the nearest known one, and on a score out of range.
 */
export function parseFloors(value: unknown, domains: readonly Domain[]): Bounds {
  return boundsAt(value, 'min_score', domains);
}

/** What shares and bounds can be stated for, beside Overall. */
function targetsOf(domains: readonly Domain[]): readonly string[] {
  return [EACH_DOMAIN, ...new Set<Domain>([...DOMAINS, ...domains])];
}

function boundsAt(value: unknown, where: string, domains: readonly Domain[]): Bounds {
  const bounds = value === undefined ? {} : objectAt(value, where);
  const targets = [OVERALL, ...targetsOf(domains)];
  refuseUnknown(
    bounds,
    [...targets, ...targets.flatMap((target) => DIMENSIONS.map((dimension) => `${target}.${dimension}`))],
    where,
  );
  return Object.fromEntries(
    Object.entries(bounds).map(([target, bound]) => [target, boundAt(bound, `${where}.${target}`, 'points', 100)]),
  );
}

function boundAt(value: unknown, where: string, key: 'points' | 'max', most: number): Bound {
  if (typeof value === 'number') {
    return { value: numberAt(value, where, 0, most), tier: 'critical' };
  }
  const bound = objectAt(value, where);
  refuseUnknown(bound, [key, 'tier'], where);
  return { value: numberAt(bound[key], `${where}.${key}`, 0, most), tier: tierAt(bound.tier, `${where}.tier`) };
}

function tierAt(value: unknown, where: string): Tier {
  return value === undefined ? 'critical' : oneOf(TIERS, value, where);
}

function oneOf<T extends string>(known: readonly T[], value: unknown, where: string): T {
  const found = known.find((name) => name === value);
  if (found === undefined) {
    const near = typeof value === 'string' ? nearest(value, known) : undefined;
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    throw bad(`${where} has to be one of ${known.join(', ')}; it is ${shown(value)}${hint}`);
  }
  return found;
}

function coverageAt(value: unknown, domains: readonly Domain[]): Readonly<Record<string, number>> {
  if (value === undefined || typeof value === 'number') {
    return { [EACH_DOMAIN]: value === undefined ? DEFAULTS.minCoverage : numberAt(value, 'min_coverage', 0, 1) };
  }
  const shares = objectAt(value, 'min_coverage');
  refuseUnknown(shares, targetsOf(domains), 'min_coverage');
  const parsed = Object.entries(shares).map(
    ([domain, share]) => [domain, numberAt(share, `min_coverage.${domain}`, 0, 1)] as const,
  );
  return { [EACH_DOMAIN]: DEFAULTS.minCoverage, ...Object.fromEntries(parsed) };
}

function provenanceAt(value: unknown): readonly Provenance[] {
  if (value === undefined) {
    return DEFAULTS.requireEqual;
  }
  if (!Array.isArray(value)) {
    throw bad(`require_equal has to be a list of ${PROVENANCE.join(', ')}; it is ${shown(value)}`);
  }
  return value.map((name, index) => oneOf(PROVENANCE, name, `require_equal[${index}]`));
}

function limitsAt(value: unknown): Policy['limits'] {
  const limits = value === undefined ? {} : objectAt(value, 'limits');
  const known = LIMITS.map(({ name }) => name);
  refuseUnknown(limits, known, 'limits');
  const mostOf = (name: string) => LIMITS.find((limit) => limit.name === name)?.most ?? Number.POSITIVE_INFINITY;
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, boundAt(limit, `limits.${name}`, 'max', mostOf(name))]),
  );
}

/** What a policy states under a key, names from `Object.prototype` aside. */
export function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
