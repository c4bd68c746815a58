// The requests of a batch folder that have no result yet, as jobs: memory holds where each lies, and its line is read when its turn comes.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Column } from '../../column.js';
import { EXIT, UserError } from '../../errors.js';
import { isObject, parseObject } from '../../json.js';
import { type List, listOf } from '../../list.js';
import { type Batch, unreadable } from '../../model/batch/folder.js';
import { present } from '../../present.js';
import { requestsIn, requireAsWritten } from './left.js';

/** A request to be asked. */
export interface RequestJob {
  /** Requests stand in the order of their prefixes: those that lie together go to one endpoint. */
  readonly group: string;
  readonly place: number;
  /** The file of requests. */
  readonly part: string;
}

export interface RequestsLeft {
  readonly jobs: List<RequestJob>;
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
  const partOf = new Column(Uint32Array);
  const offsets = new Column(Float64Array);
  const lengths = new Column(Uint32Array);
  const counts = new Map<string, { total: number; done: number; void: number }>();
  const handles: FileHandle[] = [];
  let count = 0;
  try {
    for (const [index, part] of parts.entries()) {
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
        partOf.put(count, index);
        offsets.put(count, offset);
        lengths.put(count++, bytes.length);
      }
      handles.push(await openPart(join(dir, part.file)));
    }
  } catch (error) {
    for (const handle of handles) await handle.close();
    throw error;
  }
  const fileAt = (place: number) => present(parts[partOf.at(place)]).file;
  return {
    jobs: listOf(count, (place) => ({ group: String(Math.floor(place / GROUP)), place, part: fileAt(place) })),
    parts: counts,
    async read({ place, part }) {
      const bytes = Buffer.allocUnsafe(lengths.at(place));
      await present(handles[partOf.at(place)]).read(bytes, 0, bytes.length, offsets.at(place));
      return requestIn(bytes.toString(), join(dir, part));
    },
    async close() {
      for (const handle of handles) await handle.close();
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
