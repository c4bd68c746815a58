// What goes to a server of batches and comes back: parts are submitted once, whatever happens in between, and results fetched once.

import { randomBytes } from 'node:crypto';
import { createReadStream, writeSync } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { sizeText } from '../../benchmark/hub/client.js';
import { present, UserError, unavailable } from '../../core/errors.js';
import { counted } from '../../core/printable.js';
import { openAnew, putInPlace, sizeOf } from '../../disk/files.js';
import { interrupted, Refused } from '../../model/batch/api.js';
import {
  type BatchPart,
  readBatch,
  requestsIn,
  requireAsWritten,
  resultsToFetch,
  type Sent,
  unwritable,
} from '../../model/batch/folder.js';
import { systemClock } from '../../model/schedule/pace.js';
import type { BatchClient } from './client.js';

type Reader = () => AsyncIterable<Uint8Array>;

const FIRST_POLL_MS = 1_000;
const CHUNK = 1 << 18;

/**
 * Submits what is not submitted. With `wait` it resolves when all batches have ended, and looks every `pollMs` at least; with `again` parts
 * whose batches have ended without results for all requests are sent once more, as far as these have none.
 * @throws UserError where the server refuses, or was not reached in time; the same call goes on
 */
export async function submit(client: BatchClient, again: boolean, wait: boolean, pollMs: number): Promise<void> {
  const { stop } = client.io;
  const isEnded = (part: BatchPart) => client.latest(part)?.isEnded === true;
  /** Parts of which every request has its result. */
  const answered = new Set<string>();
  let isSaid = false;
  let pauseMs = Math.min(FIRST_POLL_MS, pollMs);
  await look(client, again);
  if (again) await noteAgain(client, client.batch.parts.filter(isEnded));
  for (;;) {
    const waiting = await sendAll(client, answered);
    if (waiting !== undefined && !isSaid) {
      client.loading.say(
        `${client.api.host} takes no more tokens for now: ${waiting} and those behind it wait until another batch has ended (a part that is larger than the limit never gets any room)`,
      );
    }
    isSaid ||= waiting !== undefined;
    if (!wait || client.batch.parts.every((part) => answered.has(part.file) || isEnded(part))) return;
    await systemClock.sleep(pauseMs, stop);
    if (stop.aborted) throw interrupted(stop);
    const before = client.atWork();
    await look(client);
    pauseMs = Math.min(client.atWork() < before ? FIRST_POLL_MS : pauseMs * 2, pollMs);
  }
}

async function look(client: BatchClient, isNone = false): Promise<void> {
  const before = new Map(client.sent.map((sent) => [sent.fileName, sent.status]));
  await client.refresh(isNone);
  for (const { fileName, part, status } of client.sent) {
    if (status !== undefined && status !== before.get(fileName)) client.loading.say(`${part}: ${status}`);
  }
}

/** Notes what is to be sent once more, so that a command that is cut short leaves it to the next one. @throws UserError where results wait */
async function noteAgain(client: BatchClient, ended: readonly BatchPart[]): Promise<void> {
  if (client.sent.some((sent) => resultsToFetch(sent).length > 0)) {
    throw new UserError(
      `there are results that are not fetched yet, and their requests would be paid for twice; first: awb batch fetch ${client.shown}`,
    );
  }
  for (const part of ended) {
    const left = await leftOf(client, part);
    if (left === undefined) continue;
    const { read: _, ...fresh } = left;
    client.loading.say(`${part.file}: ${counted(left.requests, 'request')} without a result, submitted once more`);
    await client.note(undefined, { ...fresh, host: client.api.host });
  }
}

/** Sends one part after the other. @returns the part that waits until the server has room */
async function sendAll(client: BatchClient, answered: Set<string>): Promise<string | undefined> {
  const isToSend = (part: BatchPart) => !answered.has(part.file) && client.latest(part)?.batchId === undefined;
  for (;;) {
    // The run may have written the parts anew meanwhile: it goes on next to a command that waits for hours.
    client.batch = (await readBatch(client.dir)) ?? client.batch;
    const part = client.batch.parts.find(isToSend);
    if (part === undefined) return undefined;
    const { waitsBehind } = client.latest(part) ?? {};
    if (waitsBehind !== undefined && client.atWork() > 0 && client.atWork() >= waitsBehind) return part.file;
    const sent = await send(client, part);
    if (sent === undefined) answered.add(part.file);
    else if (sent.waitsBehind !== undefined) return part.file;
  }
}

/**
 * Sends a part, or those of its requests that have no result, and has a batch made of it, going on where an earlier command ended.
 * @returns what is known of it now; undefined where every request has its result already
 */
async function send(client: BatchClient, part: BatchPart): Promise<Sent | undefined> {
  const begun = client.latest(part);
  const left = await leftOf(client, part);
  if (left === undefined) {
    // What waited for room needs none any more.
    if (begun !== undefined) await client.note(begun, { ...begun, waitsBehind: undefined });
    return undefined;
  }
  const { read, ...fresh } = left;
  // Results only ever get more, so that as many requests are the same ones.
  const isThat = begun !== undefined && begun.requests === left.requests && begun.bytes === left.bytes;
  const sent = isThat ? begun : await client.note(begun, { ...fresh, host: client.api.host });
  if (sent.inputFileId !== undefined) return create(client, sent);
  // A file whose upload was not heard of is sent once more, which costs nothing.
  const inputFileId = await transfer(client, sent, read);
  return create(client, await client.note(sent, { ...sent, inputFileId }));
}

async function transfer({ api, loading }: BatchClient, { part, fileName: name, bytes }: Sent, read: Reader) {
  const served = await api.upload({ name, bytes, read }, (sent) =>
    loading.step('batch', `${part}: uploading, ${Math.floor((100 * sent) / Math.max(1, bytes))} %`),
  );
  if ((served.bytes ?? bytes) === bytes) return served.id;
  throw unavailable(
    `${api.host} has ${served.bytes} bytes of ${part}, and ${bytes} were sent; run the same command again`,
  );
}

/** Makes a batch of what was uploaded; its mark is on the disk before the server hears of it. */
async function create(client: BatchClient, uploaded: Sent): Promise<Sent> {
  const { run, url } = client.batch;
  const key = randomBytes(12).toString('hex');
  const sent = await client.note(uploaded, { ...uploaded, waitsBehind: undefined, key, isOpen: true });
  const metadata = {
    awb_key: key,
    awb_part: sent.part,
    awb_kind: run.kind,
    awb_run: basename(run.dir).slice(0, 200),
    awb_fingerprint: run.fingerprint.slice(0, 64),
  };
  try {
    const served = await client.api.create(sent.inputFileId ?? '', url, metadata, () => client.findMade(sent));
    return await client.noteServed(sent, served);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const waitsBehind = error.isFull ? client.atWork() : undefined;
    const unmade = await client.note(sent, { ...sent, isOpen: undefined, key: undefined, waitsBehind });
    if (error.isFull) return unmade;
    throw error;
  }
}

/**
 * A part, or those of its requests that have no result, as a file of a name that no other upload has; undefined where there are none.
 * @throws UserError (65) for a part that is not as it was written
 */
async function leftOf(client: BatchClient, part: BatchPart) {
  const { dir } = client;
  await requireAsWritten(dir, part);
  const answered = await client.answered();
  const left = async function* () {
    for await (const { bytes } of requestsIn(dir, part, answered)) yield Buffer.concat([bytes, Buffer.from('\n')]);
  };
  let [requests, bytes] = [0, 0];
  for await (const line of left()) {
    requests++;
    bytes += line.length;
  }
  if (requests === 0) return undefined;
  const whole = () => createReadStream(join(dir, part.file), { highWaterMark: CHUNK });
  const read: Reader = requests === part.requests ? whole : left;
  return { part: part.file, fileName: `awb-${randomBytes(6).toString('hex')}-${part.file}`, requests, bytes, read };
}

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
  const told = (await unlessRefused(api.file(id), () => true))?.bytes;
  const file = await freeName(dir, nameOf(client, sent, kind), told);
  const most = told ?? sent.requests * MOST_REPLY_BYTES;
  const bytes =
    (await sizeOf(join(dir, file))) ??
    (await unlessRefused(download(client, id, file, told, most), ({ http }) => GONE.includes(http)));
  if (bytes === undefined) {
    client.loading.say(`${api.host} has the ${kind} of ${sent.part} no more (${id}): their requests have no result`);
    await client.note(sent, { ...sent, lost: [...(sent.lost ?? []), id] });
    return;
  }
  await client.note(sent, { ...sent, [kind]: { file, bytes } });
  client.loading.say(`${file}: ${sizeText(bytes)}`);
}

async function unlessRefused<T>(asked: Promise<T>, isIt: (refused: Refused) => boolean): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (!(error instanceof Refused) || !isIt(error)) throw error;
    return undefined;
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
        client.loading.step('batch', `${file}: ${sizeText(bytes)}${told === undefined ? '' : ` of ${sizeText(told)}`}`);
      };
    });
    if (bytes > most || bytes !== (told ?? bytes)) {
      const why =
        told === undefined
          ? `which does not say how large the file is: more than ${sizeText(MOST_REPLY_BYTES)} for each request is not taken`
          : `which says that the file has ${told}; run the same command again`;
      const came = `${file}: ${bytes > most ? `more than ${most}` : bytes} bytes came from ${client.api.host}`;
      throw unavailable(`${came}, ${why}`);
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
