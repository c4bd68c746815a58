// A thread that reads pieces of open files: started by reading-threads.ts, and ended by it.

import { readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { codeOf } from '../errors.js';
import { present } from '../present.js';
import { readPiece } from './piece.js';
import type { OpenPiece, ThreadAnswer } from './reading-threads.js';

const port = present(parentPort ?? undefined);

port.on('message', async (piece: OpenPiece) => {
  const answer = await answerTo(piece);
  // Buffers change hands instead of being copied.
  const buffers = 'rows' in answer ? Object.values(answer.rows.columns).flatMap(bufferOf) : [];
  port.postMessage(answer, buffers);
});

async function answerTo({ fd, ...piece }: OpenPiece): Promise<ThreadAnswer> {
  try {
    // A thread of its own may wait for the disk.
    const read = async (buffer: Uint8Array, offset: number, length: number, position: number) => ({
      bytesRead: readSync(fd, buffer, offset, length, position),
    });
    return { rows: await readPiece({ read }, piece) };
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    return { fault: { code } };
  }
}

function bufferOf(column: unknown): ArrayBuffer[] {
  return ArrayBuffer.isView(column) && column.buffer instanceof ArrayBuffer ? [column.buffer] : [];
}
