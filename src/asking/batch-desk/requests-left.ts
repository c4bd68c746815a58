// The requests of a batch folder that have no result yet, as jobs: each line is read when its turn comes.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, UserError } from '../../errors.js';
import { isObject, parseObject } from '../../json.js';
import { type Batch, unreadable } from '../../model/batch/folder.js';
import { present } from '../../present.js';
import { requestsIn, requireAsWritten } from './left.js';

/** A request to be asked. */
export interface RequestJob {
  /** Requests stand in the order of their prefixes: those that lie together go to one endpoint. */
  readonly group: string;
  /** The file of requests, and where the request lies in it. */
  readonly part: string;
  readonly offset: number;
  readonly length: number;
}

export interface RequestsLeft {
  readonly jobs: readonly RequestJob[];
  /** How many there are in each part, without those that are void, and how many of these have a result. */
  readonly parts: ReadonlyMap<string, { readonly total: number; readonly done: number; readonly void: number }>;
  /** A job's id, and the body that it sends, as it is written. */
  read(job: RequestJob): Promise<{ readonly id: string; readonly body: string }>;
  close(): Promise<void>;
}

/** As this program writes a request: its body is taken out without being printed anew. */
const OWN = /^\{"custom_id":"([\w.~-]{1,64})","method":"POST","url":"[^"\\]*","body":(\{.*\})\}\s*$/s;
const GROUP = 32;

/** @throws UserError: 65 for a part that is not as it was written, or a line that is no request, 66 where a file cannot be read */
export async function requestsLeft(
  dir: string,
  { parts }: Batch,
  withResult: ReadonlySet<string>,
): Promise<RequestsLeft> {
  const jobs: RequestJob[] = [];
  const counts = new Map<string, { total: number; done: number; void: number }>();
  const handles = new Map<string, FileHandle>();
  try {
    for (const part of parts) {
      const own = { total: 0, done: 0, void: 0 };
      counts.set(part.file, own);
      await requireAsWritten(dir, part);
      for await (const { id, bytes, offset, isVoid } of requestsIn(dir, part)) {
        const isDone = withResult.has(id);
        if (isVoid && !isDone) {
          own.void++;
          continue;
        }
        own.total++;
        if (isDone) {
          own.done++;
          continue;
        }
        const group = String(Math.floor(jobs.length / GROUP));
        jobs.push({ group, part: part.file, offset, length: bytes.length });
      }
      handles.set(part.file, await openPart(join(dir, part.file)));
    }
  } catch (error) {
    for (const handle of handles.values()) await handle.close();
    throw error;
  }
  return {
    jobs,
    parts: counts,
    async read({ part, offset, length }) {
      const bytes = Buffer.allocUnsafe(length);
      await present(handles.get(part)).read(bytes, 0, length, offset);
      return requestIn(bytes.toString(), join(dir, part));
    },
    async close() {
      for (const handle of handles.values()) await handle.close();
    },
  };
}

async function openPart(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function requestIn(line: string, path: string): { id: string; body: string } {
  const own = OWN.exec(line);
  if (own !== null) return { id: present(own[1]), body: present(own[2]) };
  const { custom_id: id, body } = parseObject(line) ?? {};
  if (typeof id === 'string' && isObject(body)) return { id, body: JSON.stringify(body) };
  throw new UserError(`${path} holds a line that is no request of a batch; restore the file`, EXIT.badData);
}
