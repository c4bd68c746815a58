// Submitting: parts are uploaded and made into batches, each once whatever happens in between, and wait where the server has no room.

import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename, join } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { type FileToSend, interrupted, Refused } from '../../model/batch/api.js';
import { type BatchPart, readBatch, resultsToFetch, type Sent } from '../../model/batch/folder.js';
import { requestsIn, requireAsWritten } from '../../model/batch/requests.js';
import { systemClock } from '../../model/schedule/pace.js';
import type { BatchClient } from './client.js';

interface Submitting {
  /** Parts whose batches have ended without results for all requests are sent once more, as far as these have none. */
  readonly again: boolean;
  /** Looks again and again until all batches have ended. */
  readonly wait: boolean;
  /** Longest time between two looks. */
  readonly pollMs: number;
}

/** A part, or what is left of it, as a file to be sent. */
interface PartToSend extends FileToSend {
  /** The file of requests. */
  readonly part: string;
  readonly requests: number;
}

const FIRST_POLL_MS = 1_000;
const CHUNK = 1 << 18;

/**
 * Submits what is not submitted. With `wait` it resolves when all batches have ended.
 * @throws UserError where the server refuses, or was not reached in time; the same call goes on
 */
export async function submit(client: BatchClient, { wait, pollMs, again }: Submitting): Promise<void> {
  const { stop } = client.io;
  /** Parts of which every request has its result. */
  const answered = new Set<string>();
  const isOver = () =>
    client.batch.parts.every((part) => answered.has(part.file) || client.latest(part)?.isEnded === true);
  let isSaid = false;
  let pauseMs = Math.min(FIRST_POLL_MS, pollMs);
  await look(client, again);
  if (again) await noteAgain(client);
  for (;;) {
    const waiting = await sendAll(client, answered);
    if (waiting !== undefined && !isSaid) {
      client.say(
        `${client.api.host} takes no more tokens for now: ${waiting} and those behind it wait until another batch has ended (a part that is larger than the limit never gets any room)`,
      );
    }
    isSaid ||= waiting !== undefined;
    if (!wait || isOver()) return;
    await systemClock.sleep(pauseMs, stop);
    if (stop.aborted) throw interrupted(stop);
    const before = client.atWork;
    await look(client);
    pauseMs = Math.min(client.atWork < before ? FIRST_POLL_MS : pauseMs * 2, pollMs);
  }
}

async function look(client: BatchClient, isNone = false): Promise<void> {
  const before = new Map(client.sent.map((sent) => [sent.fileName, sent.status]));
  await client.refresh(isNone);
  for (const { fileName, part, status } of client.sent) {
    if (status !== undefined && status !== before.get(fileName)) client.say(`${part}: ${status}`);
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
    if (waitsBehind !== undefined && client.atWork > 0 && client.atWork >= waitsBehind) return part.file;
    const sent = await send(client, part);
    if (sent === undefined) answered.add(part.file);
    else if (sent.waitsBehind !== undefined) return part.file;
  }
}

/** Notes what is to be sent once more: what has ended without a result for every request. */
async function noteAgain(client: BatchClient): Promise<void> {
  if (client.sent.some((sent) => resultsToFetch(sent).length > 0)) {
    throw new UserError(
      `there are results that are not fetched yet, and their requests would be paid for twice; first: awb batch fetch ${client.shown}`,
    );
  }
  for (const part of client.batch.parts) {
    if (client.latest(part)?.isEnded !== true) continue;
    const left = await leftOf(client, part);
    if (left === undefined) continue;
    client.say(`${part.file}: ${counted(left.requests, 'request')} without a result, submitted once more`);
    await client.note(undefined, sentAs(client, left));
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
  // Results only ever get more, so that as many requests are the same ones.
  const isThat = begun !== undefined && begun.requests === left.requests && begun.bytes === left.bytes;
  const sent = isThat ? begun : await client.note(begun, sentAs(client, left));
  if (sent.inputFileId !== undefined) return create(client, sent);
  const inputFileId =
    (isThat ? await uploadedBefore(client, sent) : undefined) ??
    (await transfer(client, { ...left, name: sent.fileName }));
  return create(client, await client.note(sent, { ...sent, inputFileId }));
}

function sentAs({ api }: BatchClient, { part, name: fileName, requests, bytes }: PartToSend): Sent {
  return { part, host: api.host, requests, bytes, fileName };
}

/** A file that came over whole before the answer was lost. A server that lists none is sent it once more, which costs nothing. */
async function uploadedBefore({ api }: BatchClient, { fileName, bytes }: Sent): Promise<string | undefined> {
  const isIt = (file: { filename?: string | undefined; bytes?: number | undefined }) =>
    file.filename === fileName && (file.bytes ?? bytes) === bytes;
  const found = await api.findFile(isIt).catch((error: unknown) => {
    if (!(error instanceof Refused)) throw error;
  });
  return found?.id;
}

async function transfer(client: BatchClient, file: PartToSend): Promise<string> {
  const { id, bytes = file.bytes } = await client.api.upload(file, (sent) =>
    client.step(`${file.part}: uploading, ${Math.floor((100 * sent) / Math.max(1, file.bytes))} %`),
  );
  if (bytes === file.bytes) return id;
  throw new UserError(
    `${client.api.host} has ${bytes} bytes of ${file.part}, and ${file.bytes} were sent; run the same command again`,
    EXIT.unavailable,
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
    const waitsBehind = error.isFull ? client.atWork : undefined;
    const unmade = await client.note(sent, { ...sent, isOpen: undefined, key: undefined, waitsBehind });
    if (error.isFull) return unmade;
    throw error;
  }
}

/**
 * A part, or those of its requests that have no result, as a file of a name that no other upload has; undefined where there are none.
 * @throws UserError (65) for a part that is not as it was written
 */
async function leftOf(client: BatchClient, part: BatchPart): Promise<PartToSend | undefined> {
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
  const read = requests === part.requests ? whole : left;
  return { part: part.file, name: `awb-${randomBytes(6).toString('hex')}-${part.file}`, requests, bytes, read };
}
