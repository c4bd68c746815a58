// Journals of parts of a run joined into one: which record stands for a row that several parts have, and the lines in their order.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Column } from '../column.js';
import { throwIfStopped } from '../errors.js';
import { HashedTexts, TextNumbers } from '../hashed-texts.js';
import { splitLines } from '../lines.js';
import { present } from '../present.js';
import { WORDS_OF_KEY } from '../row-id.js';
import { type Shelf, viewJournal } from './journal.js';
import { type JournalRecord, readRecord } from './journal-record.js';

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
 * it; of several failures the last one counts. Tens of bytes a row are kept.
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
    const shelf = new KeptShelf();
    const journal = await viewJournal(part.path, (record) => keptOf(record, isDone(record)), shelf);
    try {
      if (journal.repaired !== undefined) damages.push(journal.repaired.replace(/^repaired /, 'in '));
      rows.push(journal.size);
      // Reading the journal is what takes time; a signal is heard between two journals.
      throwIfStopped(stop);
      let place = 0;
      for (const id of journal.ids()) {
        standing.take(id, shelf.at(place++), number, parts);
      }
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

/** As many hex digits of SHA-256 as a row's key has. */
function digestOf(bytes: string | Uint8Array): string {
  return createHash('sha256')
    .update(bytes)
    .digest('hex')
    .slice(0, 8 * WORDS_OF_KEY);
}

/** What was kept of each of many records. */
class KeptShelf implements Shelf<Kept> {
  readonly #digests = new HashedTexts(WORDS_OF_KEY);
  readonly #done = new Column(Uint32Array);
  readonly #at = new Column(Float64Array);

  put(number: number, { isDone, digest, at }: Kept): void {
    this.#digests.put(number, digest);
    this.#done.put(number, isDone ? 1 : 0);
    this.#at.put(number, at);
  }

  at(number: number): Kept {
    return { isDone: this.#done.at(number) === 1, digest: this.#digests.at(number), at: this.#at.at(number) };
  }
}

/** Which part's record stands, of every row. */
class Standing {
  alike = 0;
  mended = 0;
  kept = 0;
  conflicting = 0;
  readonly conflicts: Conflict[] = [];
  readonly #ids = new TextNumbers(WORDS_OF_KEY);
  readonly #part = new Column(Uint32Array);
  readonly #kept = new KeptShelf();
  /** Parts some of whose rows stand by the record of another. */
  readonly #beaten = new Set<number>();

  take(id: string, found: Kept, part: number, parts: readonly JournalPart[]): void {
    const known = this.#ids.size;
    const number = this.#ids.add(id);
    if (this.#ids.size > known || this.#stands(number, id, found, part, parts)) {
      this.#part.put(number, part);
      this.#kept.put(number, found);
    }
  }

  /** Whether the record that was found takes the place of the one that stood. */
  #stands(number: number, id: string, found: Kept, part: number, parts: readonly JournalPart[]): boolean {
    const before = this.#kept.at(number);
    const holder = this.#part.at(number);
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
    const number = this.#ids.find(id);
    return number === undefined ? undefined : { holder: this.#part.at(number), kept: this.#kept.at(number) };
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
  const written = new TextNumbers(WORDS_OF_KEY);
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
