// Journals of parts of a run joined into one: which record stands for a row that several parts have, and the lines in their order.

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { present, throwIfStopped } from '../../core/errors.js';
import type { Line } from '../../disk/lines.js';
import { type JournalRecord, scanJournal } from '../../run/journal.js';

/** A journal to be joined. */
interface JournalPart {
  /** How the user knows it. */
  readonly name: string;
  readonly path: string;
  /** Whether it is that of the run which the others are joined into: its finished rows stand. */
  readonly isOwn: boolean;
}

/** What joining found. */
export interface Join {
  /** Rows that have a record in each part, in the order of the parts. */
  readonly rows: readonly number[];
  /** Rows that several parts have: with the same record, with one that stands because the other failed, and with the run's own. */
  readonly alike: number;
  readonly mended: number;
  readonly kept: number;
  /** Rows of which two parts hold different finished records, and the names of these parts. */
  readonly conflicts: readonly { readonly id: string; readonly parts: readonly [string, string] }[];
  /** What is damaged in the journals, a sentence each. */
  readonly damages: readonly string[];
  /** The lines of the joined journal: every record of every part once, the one that stands of a row behind its others. */
  lines(): AsyncIterable<Uint8Array>;
}

/** A record of a part: where it lies, and what is compared of it. */
interface Entry {
  readonly id: string;
  readonly part: JournalPart;
  readonly offset: number;
  readonly length: number;
  readonly isDone: boolean;
  /** Hashes of what goes into the output, and of the whole line. */
  readonly row: string;
  readonly line: string;
  /** When it was made, as its log says; 0 where that says nothing. */
  readonly at: number;
}

/**
 * Reads the journals. A row that several parts have is taken from the run's own journal, or else from the first part that has finished
 * it; of several failures the last one counts.
 * @param isDone whether the row of a record need not be asked again; it throws for what no run writes
 * @throws UserError: as `scanJournal`, 130 or 143 once `stop` is aborted
 */
export async function joinJournals(
  parts: readonly JournalPart[],
  isDone: (record: JournalRecord) => boolean,
  stop: AbortSignal,
): Promise<Join> {
  const entries: Entry[] = [];
  const standing = new Map<string, Entry>();
  const rows: number[] = [];
  const damages: string[] = [];
  const conflicts: Join['conflicts'][number][] = [];
  const counts = { alike: 0, mended: 0, kept: 0 };
  const count = (before: Entry, found: Entry) => {
    const { name, isOwn } = before.part;
    // Merged before.
    if (isOwn && found.line === before.line) return;
    if (found.row === before.row) counts.alike++;
    else if (!found.isDone || !before.isDone) counts.mended++;
    else if (isOwn) counts.kept++;
    else conflicts.push({ id: found.id, parts: [name, found.part.name] });
  };
  for (const part of parts) {
    const latest = new Map<string, Entry>();
    const damage = await scanJournal(part.path, (record, line) => {
      const entry = entryOf(record, line, part, isDone(record));
      entries.push(entry);
      latest.set(entry.id, entry);
    });
    // Reading a journal is what takes time; a signal is heard between two of them.
    throwIfStopped(stop);
    if (damage !== undefined) damages.push(damage.replace(/^repaired /, 'in '));
    rows.push(latest.size);
    for (const found of latest.values()) {
      const before = standing.get(found.id);
      if (before !== undefined) count(before, found);
      if (before === undefined || isBetter(found, before)) standing.set(found.id, found);
    }
  }
  return { rows, ...counts, conflicts, damages, lines: () => linesOf(entries, standing, stop) };
}

function entryOf({ id, row, log }: JournalRecord, { offset, bytes }: Line, part: JournalPart, isDone: boolean): Entry {
  const at = typeof log.at === 'string' ? Date.parse(log.at) : 0;
  return {
    id,
    part,
    offset,
    length: bytes.length,
    isDone,
    row: digestOf(JSON.stringify(row)),
    line: digestOf(bytes),
    at: at || 0,
  };
}

/** 24 hex digits of SHA-256. */
function digestOf(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 24);
}

/** Whether a record that was found takes the place of the one that stood: a finished one does, and of two failures the later. */
function isBetter(found: Entry, before: Entry): boolean {
  return found.isDone === before.isDone ? !found.isDone && found.at > before.at : found.isDone;
}

/**
 * A later record replaces an earlier one: those of parts that do not stand come first, without copies of what does. Each line once, with
 * its line end.
 */
async function* linesOf(
  entries: readonly Entry[],
  standing: ReadonlyMap<string, Entry>,
  stop: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const stands = ({ id, part }: Entry) => standing.get(id)?.part === part;
  const others = entries.filter((entry) => !stands(entry) && entry.line !== present(standing.get(entry.id)).line);
  const once = new Map<string, Entry>();
  for (const entry of [...others, ...entries.filter(stands)]) if (!once.has(entry.line)) once.set(entry.line, entry);
  let file: { readonly part: JournalPart; readonly handle: FileHandle } | undefined;
  try {
    for (const { part, offset, length } of once.values()) {
      throwIfStopped(stop);
      if (file?.part !== part) {
        await file?.handle.close();
        file = { part, handle: await open(part.path) };
      }
      const bytes = Buffer.alloc(length + 1, '\n');
      await file.handle.read(bytes, 0, length, offset);
      yield bytes;
    }
  } finally {
    await file?.handle.close();
  }
}
