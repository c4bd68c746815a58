// The runs in the folders to be merged: joins their manifests and their journals.

import { hash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { countsIn } from '../../core/costs.js';
import {
  badData,
  codeOf,
  EXIT,
  identityDiffers,
  inputMissing,
  present,
  throwIfStopped,
  UserError,
} from '../../core/errors.js';
import { keysOf } from '../../core/groups.js';
import { differencesOf, fingerprintOf, type Identity } from '../../core/identity.js';
import { shownPath } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { bytesAt, sizeOf } from '../../disk/files.js';
import type { Line } from '../../disk/lines.js';
import { RECHECK } from '../../judge/judging.js';
import { type JournalRecord, scanJournal } from '../../run/journal.js';
import { type Manifest, type MergedPart, readManifest } from '../../run/manifest.js';
import { pathsOf, requireNoStray } from '../../run/run.js';

/** A part of a run, in its folder. */
export interface Part {
  /** Its name as shown to the user. */
  readonly name: string;
  /** Absolute. */
  readonly dir: string;
  readonly manifest: Manifest;
  /** Of its journal. */
  readonly path: string;
  /** Whether its journal has records. Without any, its settings do not have to match. */
  readonly isBegun: boolean;
  /** Whether it is the run that the others are joined into. */
  readonly isOwn: boolean;
}

const MANIFEST = '.manifest.json';
const REMEDY = 'name the output folders of awb infer or awb judge';

/** Kinds of runs that can be merged from parts. The others plan their rows over all of them. */
const KINDS: readonly Manifest['kind'][] = ['infer', 'judge', 'likelihood'];

/**
 * Finds the runs by the names of their files, such as `predictions` and `judged`, predictions before judgings. `notes` say why folders
 * or runs in them are left out.
 * @throws UserError: 2 for a folder that is named twice or is the output; 66 if a folder or its manifest is missing; 65 if nothing can
 * be merged
 */
export async function findParts(folders: readonly string[], output: string, io: Io) {
  const runs = new Map<string, Part[]>();
  const notes: string[] = [];
  const seen = new Set([await realPathOf(output)]);
  for (const folder of folders) {
    const dir = resolve(io.cwd, folder);
    const shown = shownPath(dir, io);
    const real = await realPathOf(dir);
    if (seen.has(real)) throw new UserError(`${shown} is named twice or is the --output-dir; name another folder`);
    seen.add(real);
    const names = await namesIn(dir, shown);
    if (names.length === 0) notes.push(`${shown} has no run (yet)`);
    for (const name of names) {
      const part = await partIn(dir, name, shown, false);
      if (part === undefined) continue;
      if (!isPart(name, part.manifest)) {
        notes.push(`${shown}: ${name}.jsonl is left out: such a run cannot be merged; make it without --shard`);
      } else {
        if (!part.isBegun) notes.push(`${shown}: ${name}.jsonl has no rows (yet)`);
        runs.set(name, [...(runs.get(name) ?? []), part]);
      }
    }
  }
  if (runs.size === 0) throw badData(['nothing to merge:', ...notes, REMEDY].join('\n  '));
  const isJudged = (parts: readonly Part[]) => parts.some(({ manifest }) => manifest.kind === 'judge');
  const inOrder = [...runs].sort(([, a], [, b]) => Number(isJudged(a)) - Number(isJudged(b)));
  return { runs: new Map<string, readonly Part[]>(inOrder), notes };
}

/** The run of this name that the output folder already has, if it has rows. @throws UserError (75) while it awaits results */
export async function ownRun(dir: string, name: string, io: Io): Promise<Part[]> {
  const shown = shownPath(dir, io);
  const own = await partIn(dir, name, shown, true);
  if (own === undefined) {
    const { outputPath, journalPath } = pathsOf({ dir, name });
    await requireNoStray([outputPath, journalPath], 'choose another --output-dir');
  }
  // A merged run would forget what this one is waiting for, and pay for it twice.
  if (own?.manifest.state === 'awaiting') {
    throw new UserError(
      `${name}.jsonl in ${shown} awaits results of its batch files; let its own command read them, then merge`,
      EXIT.later,
    );
  }
  return own?.isBegun ? [own] : [];
}

/** The real path, without links; the path itself if it does not exist. */
const realPathOf = (path: string) => realpath(path).catch(() => path);

async function partIn(dir: string, run: string, name: string, isOwn: boolean): Promise<Part | undefined> {
  const { manifestPath, journalPath: path } = pathsOf({ dir, name: run });
  const manifest = await readManifest(manifestPath);
  return manifest && { name, dir, manifest, path, isBegun: ((await sizeOf(path)) ?? 0) > 0, isOwn };
}

/** The names of the runs in a folder. @throws UserError (66) if the folder is missing, or a run in it has no manifest */
async function namesIn(dir: string, shown: string): Promise<string[]> {
  const files = await readdir(dir).catch((error: unknown) => {
    throw inputMissing(`cannot read the folder ${shown} (${codeOf(error)}); ${REMEDY}`);
  });
  for (const file of files) {
    const manifest = file.replace(/\.journal\.jsonl$/, MANIFEST);
    if (manifest === file || files.includes(manifest) || ((await sizeOf(join(dir, file))) ?? 0) === 0) continue;
    throw inputMissing(`${shown} has no ${manifest}; copy it from where that part ran, or leave the part out`);
  }
  return files.flatMap((file) => (file.endsWith(MANIFEST) ? file.slice(0, -MANIFEST.length) : [])).sort();
}

/** Panels and rechecks are not merged: they are recreated from the merged judgings. */
function isPart(name: string, { kind, identity }: Manifest): boolean {
  return KINDS.includes(kind) && identity.members === undefined && !name.includes(RECHECK);
}

/**
 * The identity that all parts share; each is given relative to the merged run.
 * @throws UserError (78) with the fields that differ
 */
export function sharedIdentity(parts: readonly { readonly name: string; readonly identity: Identity }[]): Identity {
  const [first, ...others] = parts;
  for (const other of others) {
    const differences = differencesOf(first?.identity ?? {}, other.identity, [`in ${first?.name}`, `in ${other.name}`]);
    if (differences.length === 0) continue;
    throw identityDiffers(
      [
        'rows made under different settings must not be mixed, and these parts differ:',
        ...differences.map((difference) => `  ${difference}`),
        'Merge the parts of one run, made by the same command except for --shard and --output-dir.',
      ].join('\n'),
    );
  }
  return first?.identity ?? {};
}

/**
 * The manifest of a merged run before its rows are counted. Unless stated otherwise, fields are those of the first part.
 * @param parts replace their earlier state if the run was merged from them before
 */
export function mergedManifest(
  parts: readonly Pick<Part, 'dir' | 'manifest' | 'isOwn'>[],
  identity: Identity,
): Manifest {
  const own = parts.find(({ isOwn }) => isOwn)?.manifest;
  const now = parts.filter(({ isOwn }) => !isOwn).map(partOf);
  const before = own?.merged ?? [];
  const merged = [...before.filter((part) => !now.some((other) => isSame(part, other))), ...now];
  const manifests = parts.map(({ manifest }) => manifest);
  const first = present(manifests[0]);
  const endOf = ({ endedAt, startedAt }: Manifest) => endedAt ?? startedAt;
  const byEnd = manifests.toSorted((a, b) => endOf(a).localeCompare(endOf(b)));
  const { shard: _, ...settings } = first.settings;
  const models = new Map(manifests.flatMap(({ models = [] }) => models.map((model) => [String(model.sha256), model])));
  return {
    ...first,
    label: manifests.find(({ label }) => label !== undefined)?.label,
    meta: Object.assign({}, ...manifests.map(({ meta }) => meta).reverse()),
    identity,
    fingerprint: fingerprintOf(identity),
    settings,
    endpoints: union(manifests.map(({ endpoints }) => endpoints)),
    servedModels: union(manifests.map(({ servedModels }) => servedModels)),
    models: models.size === 0 ? undefined : [...models.values()],
    price: byEnd.findLast(({ price }) => price !== undefined)?.price,
    ...spentOf([...(own === undefined ? [] : [own]), ...merged], before),
    merged,
    notices: union(manifests.map(({ notices }) => notices)),
    startedAt: own?.startedAt ?? manifests.map(({ startedAt }) => startedAt).sort()[0] ?? '',
    endedAt: byEnd.findLast(({ endedAt }) => endedAt !== undefined)?.endedAt,
    state: 'incomplete',
    batch: undefined,
    output: undefined,
    beside: undefined,
  };
}

function partOf({ dir, manifest }: Pick<Part, 'dir' | 'manifest'>): MergedPart {
  const { settings, state, startedAt, pace, unrecorded } = manifest;
  const shard = typeof settings.shard === 'string' ? settings.shard : undefined;
  return { dir, shard, state, startedAt, pace, unrecorded };
}

/** A part that was continued or moved is still the same part. */
function isSame(one: MergedPart, other: MergedPart): boolean {
  const isNamed = one.shard === undefined ? one.dir === other.dir : one.shard === other.shard;
  return isNamed && one.startedAt === other.startedAt;
}

/** The union of lists; lists may be missing in a manifest. */
function union(lists: readonly (readonly string[] | undefined)[]): string[] {
  return [...new Set(lists.flatMap((list) => list ?? []))];
}

type Spent = Pick<MergedPart, 'pace' | 'unrecorded'>;

/** The sums over all parts, minus the earlier state of parts that the run's own sums already include. */
function spentOf(plus: readonly Spent[], minus: readonly Spent[]): Spent {
  const total = (of: (part: Spent) => number | undefined) => {
    const sumOf = (parts: readonly Spent[]) => parts.reduce((sum, part) => sum + (of(part) ?? 0), 0);
    // Rounding removes what floating point leaves of amounts subtracted and added again.
    return Math.max(0, Math.round((sumOf(plus) - sumOf(minus)) * 1000) / 1000);
  };
  const kinds = new Set(plus.flatMap(({ unrecorded }) => keysOf(countsIn(unrecorded?.usage))));
  const usage = Object.fromEntries([...kinds].map((kind) => [kind, total((part) => part.unrecorded?.usage[kind])]));
  const pace = { calls: total((part) => part.pace?.calls), seconds: total((part) => part.pace?.seconds) };
  const calls = total(({ unrecorded }) => unrecorded?.calls);
  const sent = total(({ unrecorded }) => unrecorded?.uncounted?.sent);
  const received = total(({ unrecorded }) => unrecorded?.uncounted?.received);
  const uncounted = sent + received > 0 ? { sent, received } : undefined;
  return {
    pace: pace.calls === 0 ? undefined : pace,
    unrecorded: calls === 0 ? undefined : { calls, usage, uncounted },
  };
}

// Joins the journals of a run's parts: which record counts for a row that several parts have, and the order of the lines.

type JournalPart = Pick<Part, 'name' | 'path' | 'isOwn'>;
/** A record of a part: its place in the file, and the hashes that are compared. */
type Entry = ReturnType<typeof entryOf>;

/**
 * Reads the journals. If several parts have a row, a finished record counts, or else the last failure.
 * @param isDone whether the row of a record need not be asked again; throws for a record that no run writes
 * @throws UserError: as `scanJournal`, 65 if two parts have finished a row differently, 130 or 143 once `stop` is aborted
 */
export async function joinJournals(
  parts: readonly JournalPart[],
  isDone: (record: JournalRecord) => boolean,
  stop: AbortSignal,
) {
  const entries: Entry[] = [];
  const standing = new Map<string, Entry>();
  /** Number of rows with a record, for each part in order. */
  const rows: number[] = [];
  /** Damage in the journals, one sentence each. */
  const damages: string[] = [];
  /** Rows that several parts have: with the same record, and with one that counts because the other failed. */
  let [identical, recovered] = [0, 0];
  for (const part of parts) {
    const latest = new Map<string, Entry>();
    const { repaired: damage } = await scanJournal(part.path, (record, line) => {
      const entry = entryOf(record, line, part, isDone(record));
      entries.push(entry);
      latest.set(entry.id, entry);
    });
    // Reading a journal takes time; interrupts are checked between two of them.
    throwIfStopped(stop);
    if (damage !== undefined) damages.push(damage.replace(/^repaired /, 'in '));
    rows.push(latest.size);
    for (const found of latest.values()) {
      const before = standing.get(found.id);
      if (before === undefined || isBetter(found, before)) standing.set(found.id, found);
      // The run itself has this record from an earlier merge.
      if (before === undefined || (before.part.isOwn && found.line === before.line)) continue;
      if (found.row === before.row) identical++;
      else if (!found.isDone || !before.isDone) recovered++;
      else {
        const remedy = before.part.isOwn ? 'merge into a new --output-dir' : 'leave one of the two out';
        throw badData(
          `the row ${found.id} has different records in ${before.part.name} and ${part.name}; nothing was merged into this run: ${remedy}`,
        );
      }
    }
  }
  return { rows, identical, recovered, damages, lines };

  /**
   * The lines of the joined journal, each once, with its line end. A later record replaces an earlier one, so records that do not count
   * come first, without copies of those that do.
   */
  async function* lines(): AsyncGenerator<Uint8Array> {
    const stands = ({ id, part }: Entry) => standing.get(id)?.part === part;
    const others = entries.filter((entry) => !stands(entry) && entry.line !== present(standing.get(entry.id)).line);
    const once = new Map<string, Entry>();
    for (const entry of [...others, ...entries.filter(stands)]) if (!once.has(entry.line)) once.set(entry.line, entry);
    for (const { part, offset, length } of once.values()) {
      throwIfStopped(stop);
      yield Buffer.concat([bytesAt({ path: part.path, offset, length }), LINE_END]);
    }
  }
}

const LINE_END = Buffer.from('\n');

function entryOf({ id, row, log }: JournalRecord, { offset, bytes }: Line, part: JournalPart, isDone: boolean) {
  return {
    id,
    part,
    offset,
    length: bytes.length,
    isDone,
    /** Hashes of the part that goes into the output, and of the complete line. */
    row: digestOf(JSON.stringify(row)),
    line: digestOf(bytes),
    /** Time of the record by its log; 0 if unknown. */
    at: (typeof log.at === 'string' && Date.parse(log.at)) || 0,
  };
}

/** 24 hex digits of SHA-256. */
function digestOf(bytes: string | Uint8Array): string {
  return hash('sha256', bytes, 'hex').slice(0, 24);
}

/** Whether a record replaces the one found before: a finished one replaces a failure, and of two failures the later one counts. */
function isBetter(found: Entry, before: Entry): boolean {
  return found.isDone === before.isDone ? !found.isDone && found.at > before.at : found.isDone;
}
