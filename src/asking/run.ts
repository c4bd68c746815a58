// An open run: its folder, and what the asking finds out beside the rows.

import { isObject } from '../json.js';
import { openFolder, type RunFolder } from '../run/folder.js';
import type { Identity } from '../run/identity.js';
import type { JournalRecord } from '../run/journal-record.js';
import type { Manifest } from '../run/manifest.js';
import { lockFile } from '../store/lock.js';
import type { Usage } from '../types.js';

/** What stays in memory of a finished row. */
export interface RowSummary {
  readonly status: 'ok' | 'failed';
  readonly class?: string;
  /** Of a failed row. */
  readonly reason?: string;
  readonly flags: readonly string[];
  /** What the row's record has cost, over all its tries. */
  readonly usage: Usage;
  /** The stage's own mark of what the record was made from or with (see `Stage.isStale`). */
  readonly stamp?: string;
}

export interface Run extends RunFolder<RowSummary> {
  readonly kind: Manifest['kind'];
  /** Rewritten where the run learns what belongs to its identity only while asking (a dropped parameter, the judge's snapshot). */
  identity: Identity;
  readonly notices: string[];
  readonly servedModels: Set<string>;
  /** What `awb serve` said of its models, by the file's SHA-256. */
  readonly models: Map<string, Readonly<Record<string, unknown>>>;
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
  readonly identity: (stored: Manifest | undefined) => Identity;
  readonly summarise: (record: JournalRecord) => RowSummary;
}): Promise<Run> {
  const { kind, summarise, ...rest } = options;
  const folder = await openFolder({
    ...rest,
    summarise: (record) => requireSummary(summarise(record)),
    lock: lockFile,
  });
  const { stored, journal } = folder;
  return {
    ...folder,
    kind,
    notices: [...(stored?.notices ?? []), ...(journal.repaired === undefined ? [] : [journal.repaired])],
    servedModels: new Set(stored?.servedModels ?? []),
    models: new Map((stored?.models ?? []).map((model) => [String(model.sha256), model])),
  };
}

/** @throws TypeError for what no stage writes; records of earlier versions have no checksum that would tell. */
function requireSummary(summary: RowSummary): RowSummary {
  const { status, class: failure, reason, flags, usage, stamp } = summary;
  const texts = [failure, reason, stamp].filter((text) => text !== undefined);
  const counts = isObject(usage) ? Object.values(usage) : [undefined];
  const isSound =
    (status === 'ok' || status === 'failed') &&
    [...texts, ...flags].every((text) => typeof text === 'string') &&
    counts.every((count) => count === null || typeof count === 'number');
  if (!isSound) throw new TypeError('a record of this kind is never written');
  return summary;
}
