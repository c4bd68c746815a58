// What the manifest of a merged run says beside its counts, out of those of its parts.

import { EXIT, UserError } from '../../core/errors.js';
import { differencesOf, fingerprintOf, type Identity } from '../../core/identity.js';
import { canonicalJson } from '../../core/json.js';
import { keysOf } from '../../core/keys.js';
import type { Manifest, MergedPart } from '../../run/manifest.js';
import type { Part } from './parts.js';

/**
 * The identity that all parts share, each as it is seen from the merged run.
 * @throws UserError (78) with the fields that differ
 */
export function sharedIdentity(parts: readonly { readonly name: string; readonly identity: Identity }[]): Identity {
  const [first, ...others] = parts;
  if (first === undefined) return {};
  for (const other of others) {
    const differences = differencesOf(first.identity, other.identity, [`in ${first.name}`, `in ${other.name}`]);
    if (differences.length === 0) continue;
    throw new UserError(
      [
        'rows that were made under different settings must not mix, and these parts differ:',
        ...differences.map((difference) => `  ${difference}`),
        'Merge the parts of one run, each made by the same command but for --shard and --output-dir.',
      ].join('\n'),
      EXIT.identityDiffers,
    );
  }
  return first.identity;
}

/**
 * The manifest of a merged run before its rows are counted.
 * @param own that of the run which the parts are merged into; its parts of before are replaced by what they are now
 */
export function mergedManifest(
  own: Manifest | undefined,
  parts: readonly Pick<Part, 'dir' | 'manifest'>[],
  identity: Identity,
  kind: Manifest['kind'],
): Manifest {
  const now = parts.map(({ dir, manifest }) => partOf(dir, manifest));
  const before = own?.merged ?? [];
  const merged = [...before.filter((part) => !now.some((other) => isSame(part, other))), ...now];
  const manifests = [...(own === undefined ? [] : [own]), ...parts.map(({ manifest }) => manifest)];
  const [first] = manifests;
  const { shard: _, ...settings } = first?.settings ?? {};
  const ends = manifests.flatMap(({ endedAt }) => endedAt ?? []).sort();
  const byEnd = manifests.toSorted((a, b) => (endOf(a) < endOf(b) ? 1 : -1));
  const models = new Map(
    manifests.flatMap((each) => (each.models ?? []).map((model) => [canonicalJson(model), model])),
  );
  return {
    schema: 'awb.manifest/1',
    kind,
    tool: first?.tool ?? { name: '', version: '' },
    label: manifests.find(({ label }) => label !== undefined)?.label,
    meta: Object.assign({}, ...manifests.map(({ meta }) => meta).reverse()),
    identity,
    fingerprint: fingerprintOf(identity),
    settings,
    endpoints: union(manifests.map(({ endpoints }) => endpoints)),
    servedModels: union(manifests.map(({ servedModels }) => servedModels)),
    models: models.size === 0 ? undefined : [...models.values()],
    data: first?.data ?? {},
    chosen: {},
    counts: { chosen: 0, ok: 0, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} },
    tokens: {},
    price: byEnd.find(({ price }) => price !== undefined)?.price,
    ...spentBy(own, before, merged),
    merged,
    notices: union(manifests.map(({ notices }) => notices)),
    startedAt: own?.startedAt ?? manifests.map(({ startedAt }) => startedAt).sort()[0] ?? '',
    endedAt: ends.at(-1),
    state: 'incomplete',
    process: first?.process ?? { pid: 0, host: '' },
  };
}

function partOf(dir: string, { settings, state, startedAt, pace, unrecorded }: Manifest): MergedPart {
  const shard = typeof settings.shard === 'string' ? settings.shard : undefined;
  return { dir, shard, state, startedAt, pace, unrecorded };
}

/** A part that was continued, or moved, is still the same one. */
function isSame(one: MergedPart, other: MergedPart): boolean {
  const isNamed = one.shard === undefined ? one.dir === other.dir : one.shard === other.shard;
  return isNamed && one.startedAt === other.startedAt;
}

function endOf({ endedAt, startedAt }: Manifest): string {
  return endedAt ?? startedAt;
}

/** What somebody took out of a manifest is absent. */
function union(lists: readonly (readonly string[] | undefined)[]): string[] {
  return [...new Set(lists.flatMap((list) => list ?? []))];
}

type Spent = Pick<MergedPart, 'pace' | 'unrecorded'>;

/** What the run's own sums hold of its parts of before is taken off, and what all parts come to now is added. */
function spentBy(own: Manifest | undefined, before: readonly Spent[], now: readonly Spent[]): Spent {
  const plus = [...(own === undefined ? [] : [own]), ...now];
  const sumOf = (parts: readonly Spent[], of: (part: Spent) => number | undefined) =>
    parts.reduce((sum, part) => sum + (of(part) ?? 0), 0);
  const total = (of: (part: Spent) => number | undefined) => Math.max(0, sumOf(plus, of) - sumOf(before, of));
  const calls = total(({ pace }) => pace?.calls);
  // What is taken off and added again comes back as it was.
  const seconds = Math.round(total(({ pace }) => pace?.seconds) * 1000) / 1000;
  const lost = total(({ unrecorded }) => unrecorded?.calls);
  const kinds = new Set(plus.flatMap(({ unrecorded }) => keysOf(unrecorded?.usage ?? {})));
  const usage = Object.fromEntries([...kinds].map((kind) => [kind, total((part) => part.unrecorded?.usage[kind])]));
  const sent = total(({ unrecorded }) => unrecorded?.uncounted?.sent);
  const received = total(({ unrecorded }) => unrecorded?.uncounted?.received);
  const uncounted = sent > 0 || received > 0 ? { sent, received } : undefined;
  return {
    pace: calls === 0 ? undefined : { calls, seconds },
    unrecorded: lost === 0 ? undefined : { calls: lost, usage, uncounted },
  };
}
