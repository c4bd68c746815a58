// Pieces of open files, read in threads of this process: each thread is given its next piece when it has read the one before.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { codeOf, EXIT, throwIfStopped, UserError } from '../errors.js';
import type { Piece } from './piece.js';
import type { PieceKind, Pieces } from './piece-readers.js';

/** A piece and the descriptor of its file, which is open in the whole process. */
interface OpenPiece extends Piece {
  readonly fd: number;
}

/** What a thread is given. */
export interface PieceTask extends OpenPiece {
  readonly kind: PieceKind;
}

/** What a thread answers to a piece: what it holds, or why it could not be read. */
export type ThreadAnswer<T> = { readonly found: T } | { readonly fault: { readonly code: string } };

/** Compiled code alone can be started as a thread. Tests run the sources, and what they start is what they have compiled before. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/bench/reading-thread.js' : './reading-thread.js',
  import.meta.url,
);

/** Rows are garbage at once. With the usual 48 MB for what is young, a thread takes 40 MB more and is no faster. */
const YOUNG_MB = 4;

/**
 * Reads pieces of files of a kind in threads, which have ended when this settles.
 * @param work `onPiece` is given what was read, with the piece's number, as soon as it is there; `failureOf` says what to throw
 * where a piece could not be read
 * @throws UserError: 1 where a thread runs out of memory, 130 or 143 once `stop` is aborted; what `onPiece` throws.
 */
export async function readInThreads<K extends PieceKind>(
  kind: K,
  pieces: readonly OpenPiece[],
  work: {
    readonly threads: number;
    readonly heapMb?: number;
    onPiece(number: number, found: Pieces[K]): Promise<void>;
    failureOf(number: number, fault: { readonly code: string }): unknown;
    readonly stop?: AbortSignal;
  },
): Promise<void> {
  const { onPiece, failureOf, stop } = work;
  throwIfStopped(stop);
  const resourceLimits = {
    maxYoungGenerationSizeMb: YOUNG_MB,
    ...(work.heapMb === undefined ? {} : { maxOldGenerationSizeMb: work.heapMb }),
  };
  const threads = Array.from({ length: work.threads }, () => new Worker(PROGRAM, { resourceLimits }));
  const ended = new AbortController();
  // All of them take from one queue.
  const queue = pieces.entries();
  const readOn = async (thread: Worker) => {
    for (const [number, { start, end, fd }] of queue) {
      const answer = await ask<K>(thread, { kind, start, ...(end === undefined ? {} : { end }), fd });
      // Whoever ends a thread waits for that, and must be the last to listen to it.
      if (ended.signal.aborted) return;
      if ('fault' in answer) throw failureOf(number, answer.fault);
      await onPiece(number, answer.found);
    }
  };
  try {
    await Promise.race([Promise.all(threads.map(readOn)), abortion(stop, ended.signal)]);
  } catch (error) {
    throwIfStopped(stop);
    throw codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? outOfMemory() : error;
  } finally {
    ended.abort();
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** Settles when the user stops the program, and is forgotten when the work has ended. */
async function abortion(stop: AbortSignal | undefined, ended: AbortSignal): Promise<void> {
  await (stop === undefined ? once(ended, 'abort') : once(stop, 'abort', { signal: ended })).catch(() => undefined);
  throwIfStopped(stop);
}

function ask<K extends PieceKind>(thread: Worker, task: PieceTask & { kind: K }): Promise<ThreadAnswer<Pieces[K]>> {
  return new Promise((done, failed) => {
    thread
      .removeAllListeners()
      .once('message', done)
      .once('error', failed)
      .once('exit', (code) => failed(new Error(`a thread that reads the data ended with ${code}`)));
    thread.postMessage(task);
  });
}

function outOfMemory(): UserError {
  return new UserError(
    'reading the data took more memory than Node.js gives a thread; take very long lines out of the files, or allow more with NODE_OPTIONS=--max-old-space-size=8192 (MB)',
    EXIT.unexpected,
  );
}
