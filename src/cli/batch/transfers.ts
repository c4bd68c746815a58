// What goes to a server of batches and comes back: parts are submitted once, whatever happens in between, and results fetched once.

import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { sizeText } from '../../benchmark/hub/client.js';
import { present, UserError, unavailable } from '../../core/errors.js';
import { counted } from '../../core/printable.js';
import { openAnew, putInPlace, sizeOf } from '../../disk/files.js';
import { interrupted, Refused } from '../../model/batch/api.js';
import { type BatchPart, resultsToFetch, type Sent, unwritable } from '../../model/batch/folder.js';
import { systemClock } from '../../model/schedule/pace.js';
import type { BatchClient } from './client.js';

const FIRST_POLL_MS = 1_000;

/**
 * Submits what is not submitted. With `wait` it resolves when all batches have ended, and looks every `pollMs` at least; with `again` parts
 * whose batches have ended without results for all requests are sent once more, as far as these have none.
 * @throws UserError where the server refuses, or was not reached in time; the same call goes on
 */
export async function submit(client: BatchClient, again: boolean, wait: boolean, pollMs: number): Promise<void> {
  const { api, io, loading } = client;
  const isEnded = (part: BatchPart) => client.latest(part)?.isEnded === true;
  /** Parts of which every request has its result. */
  const answered = new Set<string>();
  let isSaid = false;
  let pauseMs = Math.min(FIRST_POLL_MS, pollMs);
  await client.refresh(again);
  if (again) await noteAgain(client, client.batch.parts.filter(isEnded));
  for (;;) {
    const waiting = await sendAll();
    if (waiting !== undefined && !isSaid) {
      loading.say(`${api.host} takes no more tokens for now: ${waiting} and those behind it wait for a batch to end`);
    }
    isSaid ||= waiting !== undefined;
    if (!wait || client.batch.parts.every((part) => answered.has(part.file) || isEnded(part))) return;
    await systemClock.sleep(pauseMs, io.stop);
    if (io.stop.aborted) throw interrupted(io.stop);
    const before = client.atWork();
    await client.refresh();
    pauseMs = Math.min(client.atWork() < before ? FIRST_POLL_MS : pauseMs * 2, pollMs);
  }

  /** Sends one part after the other. @returns the part that waits until the server has room */
  async function sendAll(): Promise<string | undefined> {
    const isToSend = (part: BatchPart) => !answered.has(part.file) && client.latest(part)?.batchId === undefined;
    for (;;) {
      // The run may have written the parts anew meanwhile: it goes on next to a command that waits for hours.
      client.batch = (await client.disk.batch.read()) ?? client.batch;
      const part = client.batch.parts.find(isToSend);
      if (part === undefined) return undefined;
      const { waitsBehind } = client.latest(part) ?? {};
      if (waitsBehind !== undefined && client.atWork() > 0 && client.atWork() >= waitsBehind) return part.file;
      const sent = await send(client, part);
      if (sent === undefined) answered.add(part.file);
      else if (sent.waitsBehind !== undefined) return part.file;
    }
  }
}

/** Notes what is to be sent once more, so that a command that is cut short leaves it to the next one. @throws UserError where results wait */
async function noteAgain(client: BatchClient, ended: readonly BatchPart[]): Promise<void> {
  if (client.sent.some((sent) => resultsToFetch(sent).length > 0)) {
    throw new UserError(`results wait, and would be paid for twice; fetch them first: awb batch fetch ${client.shown}`);
  }
  for (const part of ended) {
    const { fresh } = (await leftOf(client, part)) ?? {};
    if (fresh === undefined) continue;
    client.loading.say(`${part.file}: ${counted(fresh.requests, 'request')} without a result, submitted once more`);
    await client.note(undefined, fresh);
  }
}

/**
 * Sends a part, or those of its requests that have no result, and has a batch made of it, going on where an earlier command ended.
 * @returns what is known of it now; undefined where every request has its result already
 */
async function send(client: BatchClient, part: BatchPart): Promise<Sent | undefined> {
  const { api, loading } = client;
  const begun = client.latest(part);
  const left = await leftOf(client, part);
  if (left === undefined) {
    // What waited for room needs none any more.
    if (begun !== undefined) await client.note(begun, { ...begun, waitsBehind: undefined });
    return undefined;
  }
  const { read, fresh } = left;
  const { bytes } = fresh;
  // Results only ever get more, so that as many requests are the same ones.
  const isThat = begun !== undefined && begun.requests === fresh.requests && begun.bytes === bytes;
  const sent = isThat ? begun : await client.note(begun, fresh);
  if (sent.inputFileId !== undefined) return create(client, sent);
  // A file whose upload was not heard of is sent once more, which costs nothing.
  const served = await api.upload({ name: sent.fileName, bytes, read }, (done) =>
    loading.step('batch', `${part.file}: uploading, ${Math.floor((100 * done) / Math.max(1, bytes))} %`),
  );
  if ((served.bytes ?? bytes) !== bytes) {
    throw unavailable(`${api.host} has ${served.bytes} of ${bytes} bytes of ${part.file}; run the same command again`);
  }
  return create(client, await client.note(sent, { ...sent, inputFileId: served.id }));
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
  const { disk, api } = client;
  await disk.requireAsWritten(part);
  const answered = await client.answered();
  const read = async function* () {
    for await (const { bytes } of disk.requestsIn(part, answered)) yield Buffer.concat([bytes, Buffer.from('\n')]);
  };
  let [requests, bytes] = [0, 0];
  for await (const line of read()) {
    requests++;
    bytes += line.length;
  }
  const fileName = `awb-${randomBytes(6).toString('hex')}-${part.file}`;
  return requests === 0 ? undefined : { read, fresh: { part: part.file, host: api.host, requests, bytes, fileName } };
}

/** What the result of a request has at most, where a server does not say how large the file is. */
const MOST_REPLY_BYTES = 4_000_000;
/** What the server says of a file that it has no more. */
const GONE = [404, 410];

/** Fetches what has come. */
export async function fetchResults(client: BatchClient): Promise<void> {
  const { api, dir, loading } = client;
  for (const place of client.sent.keys()) {
    for (const { kind, id } of resultsToFetch(present(client.sent[place]))) {
      // What is known of it is replaced with each file.
      const sent = present(client.sent[place]);
      const told = (await unlessRefused(api.file(id), () => true))?.bytes;
      const file = await nameFor(client, sent.part, kind, told);
      const most = told ?? sent.requests * MOST_REPLY_BYTES;
      const bytes =
        (await sizeOf(join(dir, file))) ??
        (await unlessRefused(download(client, id, file, told, most), ({ http }) => GONE.includes(http)));
      if (bytes === undefined) await client.note(sent, { ...sent, lost: [...(sent.lost ?? []), id] });
      else await client.note(sent, { ...sent, [kind]: { file, bytes } });
      loading.say(
        bytes === undefined
          ? `${api.host} has the ${kind} of ${sent.part} no more (${id}): their requests have no result`
          : `${file}: ${sizeText(bytes)}`,
      );
    }
  }
}

/** What was asked for; undefined where the server has refused it in such a way. */
export async function unlessRefused<T>(asked: Promise<T>, isIt: (refused: Refused) => boolean): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (!(error instanceof Refused) || !isIt(error)) throw error;
    return undefined;
  });
}

/**
 * `outputs-0001.jsonl`, or `outputs-0001-2.jsonl` and so on where that is another one. A kill may have come right behind the renaming: a
 * file of just the size that the server tells, and that submission.json does not list yet, is the one.
 */
async function nameFor({ dir, sent }: BatchClient, part: string, kind: string, told: number | undefined) {
  const listed = new Set(sent.flatMap(({ outputs, errors }) => [outputs?.file, errors?.file]));
  for (let copy = 1; ; copy++) {
    const name = part.replace('requests', kind).replace('.jsonl', copy === 1 ? '.jsonl' : `-${copy}.jsonl`);
    const bytes = await sizeOf(join(dir, name));
    if (!listed.has(name) && (bytes === undefined || bytes === told)) return name;
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
      const due = told ?? `at most ${sizeText(MOST_REPLY_BYTES)} for each request`;
      throw unavailable(`${file} came with more or fewer bytes than due (${due}); run the same command again`);
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
