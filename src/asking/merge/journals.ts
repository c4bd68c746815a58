// Journals of parts of a run joined into one: which record stands for a row that several parts have, and the lines in their order.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { throwIfStopped } from '../../errors.js';
import { splitLines } from '../../lines.js';
import { present } from '../../present.js';
import { viewJournal } from '../../run/journal.js';
import { type JournalRecord, readRecord } from '../../run/journal-record.js';

/** A journal to be joined. */
interface JournalPart {
  /** How the user knows it. */
  readonly name: string;
  readonly path: string;
  /** Whether it is that of the run which the others are joined into: its finished rows stand. */
  readonly isOwn: boolean;
}

/** Two parts that hold different finished records of one row. */
interface Conflict {
  readonly id: string;
  readonly parts: readonly [string, string];
}

/** What joining found. */
export interface Join {
  /** Rows that have a record in each part, in the order of the parts. */
  readonly rows: readonly number[];
  /** Rows that several parts have: with the same record, with one that stands because the other failed, and with the run's own. */
  readonly alike: number;
  readonly mended: number;
  readonly kept: number;
  /** The first rows of which two parts hold different finished records, and how many there are. */
  readonly conflicts: readonly Conflict[];
  readonly conflicting: number;
  /** What is damaged in the journals, a sentence each. */
  readonly damages: readonly string[];
  /** The lines of the joined journal: every record of every part once, the one that stands of a row behind its others. */
  lines(): AsyncGenerator<string | Uint8Array>;
}

const MOST_CONFLICTS = 5;
const READ_BYTES = 1 << 20;

/** What is compared of a record. */
interface Kept {
  readonly isDone: boolean;
  /** Of what goes into the output. */
  readonly digest: string;
  /** When it was made, as its log says; 0 where that says nothing. */
  readonly at: number;
}

/**
 * Reads the journals. A row that several parts have is taken from the run's own journal, or else from the first part that has finished
 * it; of several failures the last one counts.
 * @param isDone whether the row of a record need not be asked again; it throws for what no run writes
 * @throws UserError: 66 for a journal that cannot be read, 130 or 143 once `stop` is aborted
 */
export async function joinJournals(
  parts: readonly JournalPart[],
  isDone: (record: JournalRecord) => boolean,
  stop: AbortSignal,
): Promise<Join> {
  const standing = new Standing();
  const damages: string[] = [];
  const rows: number[] = [];
  for (const [number, part] of parts.entries()) {
    const journal = await viewJournal(part.path, (record) => keptOf(record, isDone(record)));
    try {
      if (journal.repaired !== undefined) damages.push(journal.repaired.replace(/^repaired /, 'in '));
      rows.push(journal.size);
      // Reading the journal is what takes time; a signal is heard between two journals.
      throwIfStopped(stop);
      for (const id of journal.ids()) standing.take(id, present(journal.summaryOf(id)), number, parts);
    } finally {
      await journal.close();
    }
  }
  const { alike, mended, kept, conflicts, conflicting } = standing;
  // Whoever holds no row may have no journal yet.
  const lines = () => linesOf(parts, rows, standing, isDone, stop);
  return { rows, alike, mended, kept, conflicts, conflicting, damages, lines };
}

function keptOf({ row, log }: JournalRecord, isDone: boolean): Kept {
  const at = typeof log.at === 'string' ? Date.parse(log.at) : 0;
  return { isDone, digest: digestOf(JSON.stringify(row)), at: Number.isFinite(at) ? at : 0 };
}

/** 24 hex digits of SHA-256. */
function digestOf(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest().toString('hex', 0, 12);
}

/** Which part's record stands, of every row. */
class Standing {
  alike = 0;
  mended = 0;
  kept = 0;
  conflicting = 0;
  readonly conflicts: Conflict[] = [];
  readonly #standing = new Map<string, { readonly holder: number; readonly kept: Kept }>();
  /** Parts some of whose rows stand by the record of another. */
  readonly #beaten = new Set<number>();

  take(id: string, found: Kept, part: number, parts: readonly JournalPart[]): void {
    const before = this.#standing.get(id);
    if (before === undefined || this.#stands(id, before, found, part, parts)) {
      this.#standing.set(id, { holder: part, kept: found });
    }
  }

  /** Whether the record that was found takes the place of the one that stood. */
  #stands(
    id: string,
    { holder, kept: before }: { readonly holder: number; readonly kept: Kept },
    found: Kept,
    part: number,
    parts: readonly JournalPart[],
  ): boolean {
    const isBetter = found.isDone === before.isDone ? !found.isDone && found.at > before.at : found.isDone;
    this.#beaten.add(isBetter ? holder : part);
    // Merged before.
    if (parts[holder]?.isOwn && isAlike(found, before)) return false;
    if (found.digest === before.digest) this.alike++;
    else if (!found.isDone || !before.isDone) this.mended++;
    else if (parts[holder]?.isOwn) this.kept++;
    else {
      const names = [present(parts[holder]).name, present(parts[part]).name] as const;
      if (this.conflicting++ < MOST_CONFLICTS) this.conflicts.push({ id, parts: names });
    }
    return isBetter;
  }

  isBeaten(part: number): boolean {
    return this.#beaten.has(part);
  }

  /** The part whose record of this row stands, and that record; undefined for a row that was not there when the journals were read. */
  of(id: string): { readonly holder: number; readonly kept: Kept } | undefined {
    return this.#standing.get(id);
  }
}

/** A later record replaces an earlier one: those that do not stand come first. */
async function* linesOf(
  parts: readonly JournalPart[],
  rows: readonly number[],
  standing: Standing,
  isDone: (record: JournalRecord) => boolean,
  stop: AbortSignal,
): AsyncGenerator<string | Uint8Array> {
  const written = new Set<string>();
  for (const stands of [false, true]) {
    for (const [number, { path }] of parts.entries()) {
      if (rows[number] === 0 || (!stands && !standing.isBeaten(number))) continue;
      for await (const line of splitLines(createReadStream(path, { highWaterMark: READ_BYTES }))) {
        throwIfStopped(stop);
        const record = line.ended ? soundRecord(line.bytes, isDone) : undefined;
        const { holder, kept } = (record && standing.of(record.id)) ?? {};
        if (record === undefined || kept === undefined || (holder === number) !== stands) continue;
        // A copy of the record that stands would come too early.
        if (!stands && isAlike(keptOf(record, kept.isDone), kept)) continue;
        const before = written.size;
        written.add(digestOf(line.bytes));
        // One that was merged before stands in several journals.
        if (written.size === before) continue;
        yield line.bytes;
        yield '\n';
      }
    }
  }
}

function isAlike(one: Kept, other: Kept): boolean {
  return one.digest === other.digest && one.at === other.at;
}

/** The record of a line as opening the journal takes it; undefined for a damaged one. */
function soundRecord(bytes: Uint8Array, isDone: (record: JournalRecord) => boolean): JournalRecord | undefined {
  const record = readRecord(bytes);
  if (record === undefined) return undefined;
  try {
    isDone(record);
    return record;
  } catch {
    return undefined;
  }
}
