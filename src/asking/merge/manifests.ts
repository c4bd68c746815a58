// What the manifest of a merged run says beside its counts, out of those of its parts.

import { EXIT, UserError } from '../../errors.js';
import { canonicalJson } from '../../json.js';
import { differencesOf, fingerprintOf, type Identity } from '../../run/identity.js';
import type { Manifest, MergedPart, Unrecorded } from '../../run/manifest.js';
import type { Usage } from '../../types.js';
import { addUsage } from '../../usage.js';

/** A part of a run. */
export interface ManifestPart {
  /** How the user knows it. */
  readonly name: string;
  /** Its folder, absolute. */
  readonly dir: string;
  readonly manifest: Manifest;
}

/**
 * The identity that all parts share, each as it is seen from the merged run.
 * @throws UserError (78) with the fields that differ
 */
export function sharedIdentity(parts: readonly { readonly name: string; readonly identity: Identity }[]): Identity {
  const [first, ...others] = parts;
  for (const other of others) {
    if (first === undefined) break;
    const words = [`in ${first.name}`, `in ${other.name}`] as const;
    const differences = differencesOf(first.identity, other.identity, words);
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
  return first?.identity ?? {};
}

/**
 * The manifest of a merged run before its rows are counted.
 * @param own that of the run which the parts are merged into; its parts of before are replaced by what they are now
 */
export function mergedManifest(
  own: Manifest | undefined,
  parts: readonly ManifestPart[],
  identity: Identity,
  kind: Manifest['kind'],
): Manifest {
  const now = parts.map(({ dir, manifest }) => partOf(dir, manifest));
  const before = own?.merged ?? [];
  const merged = [...before.filter((part) => !now.some((other) => isSame(part, other))), ...now];
  const manifests = [...(own === undefined ? [] : [own]), ...parts.map(({ manifest }) => manifest)];
  const [first] = manifests;
  const { shard: _, ...settings } = first?.settings ?? {};
  const label = manifests.find((manifest) => manifest.label !== undefined)?.label;
  const price = manifests.toSorted((a, b) => (endOf(a) < endOf(b) ? 1 : -1)).find((manifest) => manifest.price)?.price;
  const endedAt = manifests
    .flatMap((each) => each.endedAt ?? [])
    .sort()
    .at(-1);
  const models = new Map(
    manifests.flatMap((each) => (each.models ?? []).map((model) => [canonicalJson(model), model])),
  );
  const calls = added(
    [own, ...merged].map((each) => each?.pace),
    before.map(({ pace }) => pace),
  );
  const unrecorded = addedCosts(
    [own, ...merged].map((each) => each?.unrecorded),
    before.map((each) => each.unrecorded),
  );
  return {
    schema: 'awb.manifest/1',
    kind,
    tool: first?.tool ?? { name: '', version: '' },
    ...(label === undefined ? {} : { label }),
    meta: Object.assign({}, ...manifests.map(({ meta }) => meta).reverse()),
    identity,
    fingerprint: fingerprintOf(identity),
    settings,
    endpoints: union(manifests.map(({ endpoints }) => endpoints)),
    servedModels: union(manifests.map(({ servedModels }) => servedModels)),
    ...(models.size === 0 ? {} : { models: [...models.values()] }),
    data: first?.data ?? {},
    chosen: {},
    counts: { chosen: 0, ok: 0, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} },
    tokens: {},
    ...(price === undefined ? {} : { price }),
    ...(calls.calls === 0 ? {} : { pace: calls }),
    ...(unrecorded.calls === 0 ? {} : { unrecorded }),
    merged,
    notices: union(manifests.map(({ notices }) => notices)),
    startedAt: own?.startedAt ?? manifests.map(({ startedAt }) => startedAt).sort()[0] ?? '',
    ...(endedAt === undefined ? {} : { endedAt }),
    state: 'incomplete',
    process: first?.process ?? { pid: 0, host: '' },
  };
}

function partOf(dir: string, { settings, state, startedAt, pace, unrecorded }: Manifest): MergedPart {
  return {
    dir,
    ...(typeof settings.shard === 'string' ? { shard: settings.shard } : {}),
    state,
    startedAt,
    ...(pace === undefined ? {} : { pace }),
    ...(unrecorded === undefined ? {} : { unrecorded }),
  };
}

/** A part that was continued, or moved, is still the same one. */
function isSame(one: MergedPart, other: MergedPart): boolean {
  const isNamed = one.shard === undefined ? one.dir === other.dir : one.shard === other.shard;
  return isNamed && one.startedAt === other.startedAt;
}

function endOf({ endedAt, startedAt }: Manifest): string {
  return endedAt ?? startedAt;
}

function union(lists: readonly (readonly string[] | undefined)[]): string[] {
  return [...new Set(lists.flatMap((list) => list ?? []))];
}

type Pace = NonNullable<Manifest['pace']>;

function added(paces: readonly Manifest['pace'][], less: readonly Manifest['pace'][]): Pace {
  const sum = (of: readonly Manifest['pace'][], name: keyof Pace) =>
    of.reduce((all, each) => all + (each?.[name] ?? 0), 0);
  const rest = (name: keyof Pace) => Math.max(0, sum(paces, name) - sum(less, name));
  // What is taken off and added again comes back as it was.
  return { calls: rest('calls'), seconds: Math.round(rest('seconds') * 1000) / 1000 };
}

function addedCosts(costs: readonly (Unrecorded | undefined)[], less: readonly (Unrecorded | undefined)[]): Unrecorded {
  const usage: Usage = {};
  const sum = { calls: 0, usage, uncounted: { sent: 0, received: 0 } };
  const add = (cost: Unrecorded | undefined, sign: 1 | -1) => {
    sum.calls += sign * (cost?.calls ?? 0);
    sum.uncounted.sent += sign * (cost?.uncounted?.sent ?? 0);
    sum.uncounted.received += sign * (cost?.uncounted?.received ?? 0);
    const counts = Object.entries(cost?.usage ?? {}).map(([kind, count]) => [kind, sign * count]);
    addUsage(sum.usage, Object.fromEntries(counts));
  };
  for (const cost of costs) add(cost, 1);
  for (const cost of less) add(cost, -1);
  const { calls, uncounted } = sum;
  const isUncounted = uncounted.sent > 0 || uncounted.received > 0;
  return { calls, usage, ...(isUncounted ? { uncounted } : {}) };
}
