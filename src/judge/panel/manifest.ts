// The manifest of a panel, and whether its file may be written where the user wants it.

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, relative, resolve } from 'node:path';
import { manifestBeside } from '../../benchmark/judged-path.js';
import { EXIT, UserError } from '../../core/errors.js';
import { countBy } from '../../core/groups.js';
import { differencesOf, fingerprintOf, type Identity } from '../../core/identity.js';
import { isObject } from '../../core/json.js';
import { present } from '../../core/present.js';
import type { Usage } from '../../core/types.js';
import { addUsage } from '../../core/usage.js';
import { type Counts, type DomainCost, type Manifest, readManifest } from '../../run/manifest.js';
import { setAside } from '../../run/run.js';
import { toolVersion } from '../../settings/version.js';
import type { PanelDocument } from '../../stats/agreement/panel.js';
import type { PanelRow } from './joining.js';
import type { Member } from './members.js';

/** What a panel's ratings depend on: the predictions, who judged them and how, and how that was joined. */
export function panelIdentity(
  path: string,
  members: readonly Member[],
  { combine, quorum, offsets }: PanelDocument,
): Identity {
  const first = present(members[0]);
  const { predictions, rubrics, verdicts, reading } = first.manifest.identity;
  const how = quorum === null ? combine : `${combine}, quorum ${quorum}`;
  const isOneReading = members.every(
    ({ manifest: { identity } }) => identity.verdicts === verdicts && identity.reading === reading,
  );
  return {
    mode: first.made.mode,
    predictions: seenFrom(path, first, predictions),
    judge: `panel of ${members.length} (${how}): ${members.map(({ name }) => name).join(', ')}`,
    members: members.map(({ manifest: { identity } }) => {
      const { judge, snapshot, verdicts, reading, sampling } = identity;
      return { judge, snapshot, verdicts, reading, sampling };
    }),
    combine,
    quorum: quorum ?? undefined,
    offsets: offsets ?? undefined,
    rubrics,
    ...(isOneReading && { verdicts, reading }),
  };
}

/** The predictions as a judging's identity names them: their file is told from where the judged file lies. */
function seenFrom(path: string, { path: member }: Member, predictions: unknown): unknown {
  if (!isObject(predictions) || typeof predictions.file !== 'string') return predictions;
  return { ...predictions, file: relative(dirname(path), resolve(dirname(member), predictions.file)) };
}

/**
 * Makes sure that nothing is written over but an earlier state of the same panel.
 * @throws UserError: 2 where the file is one of its own judgings, 78 for another panel or judging, 73 for a file that nobody knows.
 */
export async function requireFree(
  { path, shown, fresh }: { readonly path: string; readonly shown: string; readonly fresh: boolean },
  members: readonly Member[],
  identity: Identity,
): Promise<void> {
  if (members.some((member) => member.path === path)) {
    throw new UserError(`--output names ${shown}, which is one of the panel's own judgings; name another file`);
  }
  const files = [path, manifestBeside(path)].filter((file) => existsSync(file));
  if (files.length === 0) return;
  if (fresh) {
    await setAside(dirname(path), files);
    return;
  }
  const remedy = 'name another file with --output, or give --fresh to keep the old one aside';
  const stored = await readManifest(manifestBeside(path));
  if (stored === undefined) {
    throw new UserError(
      `${shown} is there already, and nobody knows who wrote it (it has no manifest); ${remedy}`,
      EXIT.cannotCreate,
    );
  }
  // What the judges' offsets are, follows from the rows; more of them may have been judged since.
  const differences = differencesOf({ ...stored.identity, offsets: undefined }, { ...identity, offsets: undefined });
  if (differences.length === 0) return;
  throw new UserError(
    [`${shown} holds another judging:`, ...differences.map((line) => `  ${line}`), remedy.replace(/^n/, 'N')].join(
      '\n',
    ),
    EXIT.identityDiffers,
  );
}

/** What of a panel its manifest is made from. */
interface Written {
  readonly path: string;
  readonly identity: Identity;
  readonly members: readonly Member[];
  readonly rows: readonly PanelRow[];
  readonly panel: PanelDocument;
  readonly settings: Manifest['settings'];
  readonly output: { readonly bytes: number; readonly sha256: string };
}

/** Begun with the first of its judgings and ended with the last: joining them has no time of its own. */
export function panelManifest({ path, identity, members, rows, panel, settings, output }: Written): Manifest {
  const manifests = members.map(({ manifest }) => manifest);
  const first = present(manifests[0]);
  const chosen = chosenIn(manifests);
  const counts = countsOf(rows, chosen);
  const ends = manifests.flatMap(({ endedAt }) => endedAt ?? []).sort();
  const usage: Usage = {};
  for (const { tokens } of manifests) addUsage(usage, tokens);
  const label = first.label;
  return {
    schema: 'awb.manifest/1',
    kind: 'judge',
    tool: { name: 'agentworldbench', version: toolVersion() },
    ...(label !== undefined && { label }),
    meta: first.meta,
    identity,
    fingerprint: fingerprintOf(identity),
    settings,
    endpoints: [...new Set(manifests.flatMap(({ endpoints }) => endpoints))],
    servedModels: [...new Set(manifests.flatMap(({ servedModels }) => servedModels))],
    data: { judgings: members.map(({ path: file, sha256 }) => ({ file: relative(dirname(path), file), sha256 })) },
    ...(first.predictions === undefined ? {} : { predictions: first.predictions }),
    chosen,
    counts,
    tokens: usage,
    costs: costsOf(manifests),
    panel: { judges: panel.judges, by_fewer: panel.by_fewer, agreement: panel.agreement },
    notices: [],
    startedAt: present(manifests.map(({ startedAt }) => startedAt).sort()[0]),
    ...(ends.length === 0 ? {} : { endedAt: present(ends.at(-1)) }),
    state: isWhole(panel, counts) ? 'complete' : 'incomplete',
    process: { pid: process.pid, host: hostname() },
    output: { file: path, form: fingerprintOf({ rows: rows.length, file: basename(path) }), ...output },
  };
}

/** Whether the panel has a rating, or a failure of the world model, for every prediction that was chosen. */
export function isWhole(
  { missing, not_judged }: PanelDocument,
  { notDone, absent }: Pick<Counts, 'notDone' | 'absent'>,
): boolean {
  return missing + not_judged + notDone + absent === 0;
}

/** Rows by domain that the judgings chose: of one that is not complete, all the same. */
function chosenIn(manifests: readonly Manifest[]): Record<string, number> {
  const chosen: Record<string, number> = {};
  for (const manifest of manifests) {
    for (const [domain, count] of Object.entries(manifest.chosen))
      chosen[domain] = Math.max(chosen[domain] ?? 0, count);
  }
  return chosen;
}

function countsOf(rows: readonly PanelRow[], chosen: Readonly<Record<string, number>>): Counts {
  const failed = rows.flatMap(({ outcome }) => (outcome?.status === 'failed' ? [outcome.failure.class] : []));
  const ok = rows.filter(({ outcome }) => outcome?.status === 'rated').length;
  const all = Math.max(
    rows.length,
    Object.values(chosen).reduce((sum, count) => sum + count, 0),
  );
  return {
    chosen: all,
    ok,
    failed: failed.length,
    notDone: rows.length - ok - failed.length,
    absent: all - rows.length,
    failures: countBy(failed, String),
    flags: {},
  };
}

/** What all judgings together took. */
function costsOf(manifests: readonly Manifest[]): Record<string, DomainCost> {
  const sums: Record<string, DomainCost> = {};
  for (const { costs = {} } of manifests) {
    for (const [domain, cost] of Object.entries(costs)) {
      const before = sums[domain];
      const usage: Usage = { ...before?.usage };
      addUsage(usage, cost.usage);
      const usd = [before?.usd, cost.usd].filter((each) => each !== undefined);
      const unpriced = (before?.unpriced ?? 0) + (cost.unpriced ?? 0);
      sums[domain] = {
        rows: (before?.rows ?? 0) + cost.rows,
        usage,
        ...(usd.length === 0 ? {} : { usd: usd.reduce((sum, each) => sum + each, 0) }),
        ...(unpriced === 0 ? {} : { unpriced }),
      };
    }
  }
  return sums;
}
