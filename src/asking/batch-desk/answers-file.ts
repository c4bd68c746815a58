// answers.jsonl of a batch folder: results made here, each on the disk before its slot is used again.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../files.js';
import { unwritable } from '../../model/batch/folder.js';
import { Appender } from '../../run/group-commit.js';

const ANSWERS = 'answers.jsonl';
const LINE_FEED = 0x0a;
const BLOCK = 1 << 16;

export interface AnswersFile {
  readonly name: string;
  /** Resolves when the line is on the disk. */
  append(line: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Opens the file, or makes it. A torn last line, as a kill leaves it, is cut off: its request is asked again. */
export async function openAnswers(dir: string): Promise<AnswersFile> {
  const path = join(dir, ANSWERS);
  try {
    const handle = await openToWrite(path);
    try {
      const { size } = await handle.stat();
      const end = await endOfLines(handle, size);
      if (end < size) await handle.truncate(end);
      await syncFolder(dir);
      const appender = new Appender(handle, path, end);
      return {
        name: ANSWERS,
        append: async (line) => void (await appender.append(line)),
        async close() {
          await appender.idle();
          await handle.close();
        },
      };
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Like 'r+', but makes the file, and follows no link: a folder of somebody else's must not name a file of ours. */
function openToWrite(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0));
}

/** Behind the last line feed. */
async function endOfLines(handle: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(BLOCK);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    const at = block.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}
