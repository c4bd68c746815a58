// A thread that reads pieces of open files: started by reading-threads.ts, and ended by it.

import { readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { codeOf } from '../errors.js';
import { asObject } from '../json.js';
import { present } from '../present.js';
import { PIECE_READERS, type PieceKind, type Pieces } from './piece-readers.js';
import type { PieceTask, ThreadAnswer } from './reading-threads.js';

const port = present(parentPort ?? undefined);

port.on('message', async (task: PieceTask) => {
  const answer = await answerTo(task);
  // The buffers of columns change hands instead of being copied.
  const columns = 'found' in answer && 'columns' in answer.found ? asObject(answer.found.columns) : {};
  port.postMessage(answer, Object.values(columns).flatMap(bufferOf));
});

async function answerTo({ kind, fd, ...piece }: PieceTask): Promise<ThreadAnswer<Pieces[PieceKind]>> {
  try {
    // A thread of its own may wait for the disk.
    const read = async (buffer: Uint8Array, offset: number, length: number, position: number) => ({
      bytesRead: readSync(fd, buffer, offset, length, position),
    });
    return { found: await PIECE_READERS[kind]({ read }, piece) };
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    return { fault: { code } };
  }
}

function bufferOf(column: unknown): ArrayBuffer[] {
  return ArrayBuffer.isView(column) && column.buffer instanceof ArrayBuffer ? [column.buffer] : [];
}
