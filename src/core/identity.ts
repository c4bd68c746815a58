// What a run's numbers depend on: runs of different identities are not mixed in one file. And the kinds of runs.

import { createHash } from 'node:crypto';
import { identityDiffers } from './errors.js';
import { canonicalJson, isObject } from './json.js';

/** What a run's numbers depend on; a run can be continued only under an equal identity. Values are JSON. */
export type Identity = Readonly<Record<string, unknown>>;

/** SHA-256 in hex over the identity with sorted keys, so that insertion order does not matter. */
export function fingerprintOf(identity: Identity): string {
  return createHash('sha256').update(canonicalJson(identity)).digest('hex');
}

/** Items in the order of a hash of their text: the same every time, and no item's place depends on which others there are. */
export function inHashOrder<T>(items: readonly T[], textOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, rank: createHash('sha256').update(textOf(item)).digest('hex') }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ item }) => item);
}

/**
 * One line per differing field, such as `sampling.temperature: 0.6 before, 1 now`; none if and only if both have the same canonical
 * JSON. An object compared with nothing is shown by its fields.
 * @param words which of the two is which
 */
export function differencesOf(before: unknown, now: unknown, words: Words = ['before', 'now'], field = ''): string[] {
  if (isTree(before, now)) {
    const old = new Map(Object.entries(before ?? {}));
    const current = new Map(Object.entries(now ?? {}));
    return [...new Set([...old.keys(), ...current.keys()])]
      .sort()
      .flatMap((key) => differencesOf(old.get(key), current.get(key), words, field === '' ? key : `${field}.${key}`));
  }
  const show = (value: unknown) => (value === undefined ? 'absent' : canonicalJson(value));
  return show(before) === show(now) ? [] : [`${field}: ${show(before)} ${words[0]}, ${show(now)} ${words[1]}`];
}

type Words = readonly [string, string];

/** @throws UserError (78) that lists the differences field by field. */
export function requireSameIdentity(before: Identity, now: Identity, where: string): void {
  const differences = differencesOf(before, now);
  if (differences.length === 0) return;
  throw identityDiffers(
    [
      `${where} was started with different settings; rows made under different settings must not be mixed:`,
      ...differences.map((difference) => `  ${difference}`),
      'Use the earlier settings to continue it (with the earlier version of awb if its bundled texts differ), another --output-dir to keep both, or --fresh to start over (the old files are moved aside).',
    ].join('\n'),
  );
}

function isTree(before: unknown, now: unknown): boolean {
  const sides = [before, now].filter((side) => side !== undefined);
  return sides.every(isObject) && sides.some((side) => Object.keys(side).length > 0);
}

// The kinds of runs, by the stage that made them, and whom each asks.

export const RUN_KINDS = ['infer', 'judge', 'calibrate', 'likelihood', 'scenarios', 'simulate'] as const;

export type RunKind = (typeof RUN_KINDS)[number];

/** Whether the run sends rows to the world model; the others ask a judge, or call no model. */
export function asksWorldModel(kind: RunKind | undefined): boolean {
  return kind !== undefined && kind !== 'judge' && kind !== 'calibrate';
}
