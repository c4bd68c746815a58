// An open run: its folder, what stays in memory of its rows, and what the asking finds out beside them.

import { join } from 'node:path';
import type { Identity } from '../core/identity.js';
import { isObject } from '../core/json.js';
import type { Price } from '../core/price.js';
import type { Usage } from '../core/types.js';
import { callsIn, isCounted, isUncounted } from '../core/usage.js';
import { lockFile } from '../disk/lock.js';
import { openFolder, type RunFolder, viewFolder } from './folder.js';
import type { JournalRecord } from './journal-record.js';
import { Ledger } from './ledger.js';
import type { Manifest, Unrecorded } from './manifest.js';
import { readManifest } from './manifest-file.js';

/** The price, given the models that have answered so far; undefined where nobody knows it, which is not a price of zero. */
export type Pricing = (servedModels: ReadonlySet<string>) => Price | undefined;

/** What a finished row has come to. */
export interface RowState {
  readonly status: 'ok' | 'failed';
  readonly class?: string | undefined;
  /** Of a failed row. */
  readonly reason?: string | undefined;
  readonly flags: readonly string[];
}

/** What stays in memory of a finished row. */
export interface RowSummary extends RowState {
  /** What the row's record has cost, over all its tries. */
  readonly usage: Usage;
  /** Characters that were sent, where one call is all that the record took. */
  readonly chars?: number | undefined;
  /** Tries of all its calls; 0 for a record that needed none. */
  readonly attempts: number;
  /** Calls that the usage is of. */
  readonly calls: number;
  /** What earlier records of the row took that asked for it, too; absent where there is none. */
  readonly earlier?: readonly Taken[];
  /** What the record was made from and with (see `StageOutput.stampOf`). */
  readonly stamp: string;
}

/** What one record took. */
type Taken = Pick<RowSummary, 'usage' | 'calls'>;

/** What is kept of earlier records of a row that nobody counted: one text says it of all. */
const UNCOUNTED: readonly Taken[] = [{ usage: {}, calls: 1 }];

/** Under which name a record's log holds its stamp. */
export const STAMP_KEY = {
  infer: 'dropped',
  judge: 'stamp',
  calibrate: 'stamp',
  likelihood: 'dropped',
  scenarios: 'dropped',
  simulate: 'dropped',
} as const satisfies Record<Manifest['kind'], string>;

export interface Run extends RunFolder<RowSummary> {
  readonly kind: Manifest['kind'];
  /** The folder, absolute. */
  readonly dir: string;
  /** What it writes there, its lock included; some of it may not be there yet. */
  readonly files: readonly string[];
  /** What all sessions have spent: on records, those that others have replaced since among them, and on what came to no record. */
  readonly ledger: Ledger;
  /** Rows that earlier sessions have finished. */
  readonly finishedBefore: number;
  /** What earlier sessions spent on what came to no record. */
  readonly unrecorded: Unrecorded;
  /** Rewritten where the run learns what belongs to its identity only while asking (a dropped parameter, the judge's snapshot). */
  identity: Identity;
  readonly notices: string[];
  readonly servedModels: Set<string>;
  /** What `awb serve` said of its models, by the file's SHA-256. */
  readonly models: Map<string, Readonly<Record<string, unknown>>>;
  /** The folder of the batch files that the run is asked by; undefined where it is asked live. */
  batch?: Manifest['batch'] | undefined;
}

/**
 * Opens a run folder as `openFolder` does, and takes up what earlier sessions of the run found out.
 * @throws UserError 73 (folder, lock), 78 (begun under another identity), 65 (manifest unreadable).
 */
export async function openRun(options: {
  readonly kind: Manifest['kind'];
  readonly dir: string;
  readonly name: string;
  readonly fresh: boolean;
  /** A second file that such a run may write. */
  readonly beside?: string;
  /** Looks at what is there and leaves no trace; nothing can be asked then. */
  readonly dryRun?: boolean;
  readonly identity: (stored: Manifest | undefined) => Identity;
  readonly stateOf: (record: JournalRecord) => RowState;
  /** What calls cost, given the models that have answered so far. */
  readonly pricing?: Pricing;
}): Promise<Run> {
  const { kind, stateOf, dryRun = false, pricing = () => undefined, ...rest } = options;
  // What records cost is summed while they are read, so the price of earlier sessions is looked up before.
  const before = options.fresh ? undefined : await readManifest(join(options.dir, `${options.name}.manifest.json`));
  const servedModels = new Set(before?.servedModels ?? []);
  const { unrecorded = { calls: 0, usage: {} } } = before ?? {};
  const ledger = new Ledger(() => pricing(servedModels) ?? before?.price);
  ledger.add(unrecorded);
  let isOpen = false;
  const summarise = (record: JournalRecord, before: RowSummary | undefined) => {
    const summary = summaryOf(stateOf(record), record.log, STAMP_KEY[kind]);
    if (!isOpen) ledger.add(entryOf(summary, record.log));
    return behind(before, summary);
  };
  const folder = await (dryRun
    ? viewFolder({ ...rest, summarise })
    : openFolder({ ...rest, summarise, lock: lockFile }));
  isOpen = true;
  const { stored, journal } = folder;
  let finishedBefore = 0;
  for (const id of journal.ids()) if (journal.summaryOf(id)?.status === 'ok') finishedBefore++;
  // A run that holds nothing yet binds nobody.
  if (stored === undefined) servedModels.clear();
  return {
    ...folder,
    kind,
    dir: options.dir,
    files: [
      ...[folder.outputPath, folder.journalPath, folder.manifestPath],
      ...[`.${options.name}.lock`, ...(options.beside === undefined ? [] : [options.beside])].map((file) =>
        join(options.dir, file),
      ),
    ],
    ledger,
    finishedBefore,
    unrecorded,
    notices: [...(stored?.notices ?? []), ...(journal.repaired === undefined ? [] : [journal.repaired])],
    servedModels,
    batch: stored?.batch,
    models: new Map((stored?.models ?? []).map((model) => [String(model.sha256), model])),
  };
}

/** What an earlier session's record adds to what was spent. */
export function entryOf({ status, attempts, usage, chars, calls }: RowSummary, { uncounted }: JournalRecord['log']) {
  return {
    usage,
    chars,
    calls,
    ...(isUncounted(uncounted) ? { uncounted } : { isUnknown: status === 'ok' && attempts > 0 && !isCounted(usage) }),
  };
}

/** @throws TypeError for what no stage writes */
export function summaryOf(state: RowState, log: JournalRecord['log'], stampKey: string): RowSummary {
  const { status, class: failure, reason, flags } = state;
  const { usage = {}, chars, attempts = 0, tries, [stampKey]: stamp = '' } = log;
  const texts = [failure, reason].filter((text) => text !== undefined);
  const isSound =
    (status === 'ok' || status === 'failed') && [...texts, ...flags].every((text) => typeof text === 'string');
  if (!isSound || typeof stamp !== 'string' || !isUsage(usage) || typeof attempts !== 'number') {
    throw new TypeError('a record of this kind is never written');
  }
  const calls = callsIn(tries);
  // Field by field: what is spread into an object takes up to twice the memory.
  return {
    status,
    class: failure,
    reason,
    flags: flags.length === 0 ? NO_FLAGS : flags,
    usage,
    chars: typeof chars === 'number' ? chars : undefined,
    attempts,
    calls,
    stamp,
  };
}

/** One array for all rows without flags. */
const NO_FLAGS: RowState['flags'] = [];

/** A count of null adds nothing. */
function isUsage(value: unknown): value is Usage {
  return isObject(value) && Object.values(value).every((count) => count === null || typeof count === 'number');
}

/** The summary of a row's record behind that of the record before, whose place it takes: what that one took is kept. */
export function behind(before: RowSummary | undefined, summary: RowSummary): RowSummary {
  if (before === undefined) return summary;
  const earlier = earlierOf(before);
  return earlier === undefined ? summary : { ...summary, earlier };
}

function earlierOf({ attempts, usage, calls, earlier }: RowSummary): readonly Taken[] | undefined {
  if (attempts === 0) return earlier;
  if (isCounted(usage)) return [...(earlier ?? []), { usage, calls }];
  return earlier ?? UNCOUNTED;
}
