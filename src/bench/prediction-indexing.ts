// An open predictions file -> an index of its rows, and the hash of its bytes.

import { createHash } from 'node:crypto';
import { EXIT, throwIfStopped, UserError } from '../errors.js';
import { TextNumbers } from '../hashed-texts.js';
import { present } from '../present.js';
import { rowId, WORDS_OF_KEY } from '../row-id.js';
import { chunksOf, unreadable } from './line-file.js';
import { inTurns } from './loop-turn.js';
import { type OpenFile, readPieces, type Sharing } from './pieces.js';
import { PredictionIndex } from './prediction-index.js';
import type { PredictionLine } from './prediction-line.js';
import { type PredictionRef, refOf } from './prediction-ref.js';
import type { RowIndex } from './row-index.js';
import { EqualRows } from './row-keys.js';

interface IndexedPredictions {
  /** In file order. */
  readonly refs: PredictionIndex;
  /** SHA-256 hex of the file's bytes. */
  readonly sha256: string;
}

interface Indexing {
  /** The data's rows, which lean predictions belong to; absent where no data was named. */
  readonly rows: RowIndex | undefined;
  /** Ends the error about a file that cannot be read. */
  readonly hint: string;
  readonly stop?: AbortSignal | undefined;
  readonly sharing?: Sharing;
}

/**
 * Indexes the rows of a predictions file. What comes out, or is refused, does not depend on the sharing.
 * @throws UserError: 66 where the file cannot be read, 65 for the first line that is no prediction, a row that stands there twice, or
 * a lean row without its data, 1 where a thread runs out of memory, 130 or 143 once `stop` is aborted.
 */
export async function indexPredictions(file: OpenFile, indexing: Indexing): Promise<IndexedPredictions> {
  const refs = new PredictionIndex();
  const known = { equals: new EqualRows(), rows: indexing.rows };
  const ids = new TextNumbers(WORDS_OF_KEY);
  const refused = (line: number, reason: string) => new UserError(`${file.path}:${line}: ${reason}`, EXIT.badData);
  const add = (found: PredictionLine) => {
    const ref = refOf(found, known);
    if (typeof ref === 'string') throw refused(found.line, ref);
    const earlier = firstOfSame(ref, ids, refs);
    if (earlier !== undefined) {
      throw refused(found.line, `the row of line ${earlier} stands here again; take one of the two out`);
    }
    refs.add(ref);
  };
  // While threads parse, this one has nothing to do but that.
  const hash = hashing(file, indexing);
  try {
    await readPieces(
      'predictions',
      [file],
      async (_file, { found, bad }, linesBefore) => {
        for await (const line of inTurns(found)) add({ ...line, line: line.line + linesBefore });
        if (bad !== undefined) throw refused(bad.line + linesBefore, bad.reason);
      },
      indexing,
    );
    return { refs, sha256: await hash.sha256 };
  } finally {
    await hash.end();
  }
}

/** The line of the row with the same id that came before; where there is none, the id is taken. */
function firstOfSame(
  { key, repeat, index }: PredictionRef,
  ids: TextNumbers,
  refs: PredictionIndex,
): number | undefined {
  const before = ids.size;
  const number = ids.add(rowId(key, repeat, index));
  return ids.size > before ? undefined : present(refs.at(number)).line;
}

/** The hash of a file's bytes, which are read until there are no more, or until it is ended. */
function hashing({ path, handle }: OpenFile, { hint, stop }: Pick<Indexing, 'hint' | 'stop'>) {
  let isEnded = false;
  const read = async () => {
    const hash = createHash('sha256');
    try {
      for await (const chunk of chunksOf(handle, { start: 0, onChunk: () => {} })) {
        throwIfStopped(stop);
        if (isEnded) break;
        hash.update(chunk);
      }
    } catch (error) {
      throw unreadable(path, error, hint);
    }
    return hash.digest('hex');
  };
  const sha256 = read();
  // It is waited for when the rows are there.
  sha256.catch(() => {});
  return {
    sha256,
    async end() {
      isEnded = true;
      await sha256.catch(() => {});
    },
  };
}
