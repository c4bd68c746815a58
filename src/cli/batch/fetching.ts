// Fetching: the files of results of batches that have ended, each written aside, looked over and renamed, and never twice.

import { writeSync } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeText } from '../../benchmark/hub/download-text.js';
import { EXIT, UserError } from '../../core/errors.js';
import { present } from '../../core/present.js';
import { sizeOf } from '../../disk/file-reading.js';
import { openAnew, putInPlace } from '../../disk/make-folder.js';
import { Refused } from '../../model/batch/api.js';
import { resultsToFetch, type Sent, unwritable } from '../../model/batch/folder.js';
import type { BatchClient } from './client.js';

type Wanted = ReturnType<typeof resultsToFetch>[number];

/** What the result of a request has at most, where a server does not say how large the file is. */
const MOST_REPLY_BYTES = 4_000_000;
/** What the server says of a file that it has no more. */
const GONE = [404, 410];

/** Fetches what has come. */
export async function fetchResults(client: BatchClient): Promise<void> {
  for (const [place, sent] of client.sent.entries()) {
    // What is known of it is replaced with each file.
    for (const wanted of resultsToFetch(sent)) await fetchOne(client, present(client.sent[place]), wanted);
  }
}

async function fetchOne(client: BatchClient, sent: Sent, { kind, id }: Wanted): Promise<void> {
  const { api, dir } = client;
  const told = (await unlessRefused(api.file(id), () => true, undefined))?.bytes;
  const file = await freeName(dir, nameOf(client, sent, kind), told);
  const most = told ?? sent.requests * MOST_REPLY_BYTES;
  const isGone = ({ http }: Refused) => GONE.includes(http);
  const bytes =
    (await sizeOf(join(dir, file))) ?? (await unlessRefused(download(client, id, file, told, most), isGone, undefined));
  if (bytes === undefined) {
    client.say(`${api.host} has the ${kind} of ${sent.part} no more (${id}): their requests have no result`);
    await client.note(sent, { ...sent, lost: [...(sent.lost ?? []), id] });
    return;
  }
  await client.note(sent, { ...sent, [kind]: { file, bytes } });
  client.say(`${file}: ${sizeText(bytes)}`);
}

async function unlessRefused<T, Other>(asked: Promise<T>, isIt: (refused: Refused) => boolean, other: Other) {
  return asked.catch((error: unknown) => {
    if (error instanceof Refused && isIt(error)) return other;
    throw error;
  });
}

/** `outputs-0001.jsonl` for the first time that the part was sent, `outputs-0001-2.jsonl` for the second. */
function nameOf(client: BatchClient, { part, fileName }: Sent, kind: Wanted['kind']): string {
  const number = /\d+/.exec(part)?.[0] ?? '0';
  const times = client.sent.filter((each) => each.part === part).findIndex((each) => each.fileName === fileName);
  return `${kind}-${number}${times > 0 ? `-${times + 1}` : ''}.jsonl`;
}

/** A kill may have come right behind the renaming: a file of just that size is the one. Any other of that name stays as it is. */
async function freeName(dir: string, name: string, told: number | undefined): Promise<string> {
  for (let copy = 0; ; copy++) {
    const free = copy === 0 ? name : name.replace('.jsonl', `.${copy}.jsonl`);
    const bytes = await sizeOf(join(dir, free));
    if (bytes === undefined || bytes === told) return free;
  }
}

/**
 * Downloads a file of results.
 * @param told the bytes that it has, as the server says
 * @param most what is taken at most
 * @returns its bytes
 */
async function download(client: BatchClient, id: string, file: string, told: number | undefined, most: number) {
  const path = join(client.dir, file);
  // No result is looked for under such a name.
  const temporary = `${path}.part`;
  let handle: FileHandle | undefined;
  try {
    const bytes = await client.api.content(id, most, async () => {
      await handle?.close();
      handle = await openAnew(temporary);
      const { fd } = handle;
      let bytes = 0;
      return (piece) => {
        for (let from = 0; from < piece.length; ) from += writeSync(fd, piece, from);
        bytes += piece.length;
        client.step(`${file}: ${sizeText(bytes)}${told === undefined ? '' : ` of ${sizeText(told)}`}`);
      };
    });
    if (bytes > most || bytes !== (told ?? bytes)) {
      const why =
        told === undefined
          ? `which does not say how large the file is: more than ${sizeText(MOST_REPLY_BYTES)} for each request is not taken`
          : `which says that the file has ${told}; run the same command again`;
      const came = `${file}: ${bytes > most ? `more than ${most}` : bytes} bytes came from ${client.api.host}`;
      throw new UserError(`${came}, ${why}`, EXIT.unavailable);
    }
    await handle?.sync();
    await putInPlace(temporary, path);
    return bytes;
  } catch (error) {
    throw unwritable(path, error);
  } finally {
    await handle?.close();
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}
