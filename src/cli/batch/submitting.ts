// Submitting: parts are uploaded and made into batches, each once whatever happens in between, and wait where the server has no room.

import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename, join } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { type FileToSend, interrupted } from '../../model/batch/api.js';
import type { BatchPart } from '../../model/batch/folder.js';
import { requireAsWritten, unansweredIn } from '../../model/batch/requests.js';
import { namesWithResult } from '../../model/batch/results.js';
import { isLive, resultsToFetch, type Sent } from '../../model/batch/submission.js';
import { systemClock } from '../../model/schedule/pace.js';
import type { BatchClient } from './client.js';
import { findMade, heard, refresh } from './refreshing.js';
import type { Telling } from './with-client.js';

interface Submitting extends Telling {
  /** Parts whose batches have ended without results for all requests are sent once more, as far as these have none. */
  readonly again: boolean;
  /** Looks again and again until all batches have ended. */
  readonly wait: boolean;
  /** Longest time between two looks. */
  readonly pollMs: number;
  readonly stop: AbortSignal;
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
export async function submit(client: BatchClient, options: Submitting): Promise<void> {
  const { wait, pollMs, again, stop } = options;
  /** Parts of which every request has its result. */
  const answered = new Set<string>();
  const isOver = () => client.parts.every((part) => answered.has(part.file) || client.latest(part)?.isEnded === true);
  const sayFull = onceFull(client, options);
  await look(client, options, again);
  if (again) await noteAgain(client, options);
  if (!(await sendAll(client, answered, options))) sayFull();
  let pauseMs = Math.min(FIRST_POLL_MS, pollMs);
  while (wait && !isOver()) {
    await systemClock.sleep(pauseMs, stop);
    if (stop.aborted) throw interrupted(stop);
    const hasEnded = await look(client, options);
    if (!(await sendAll(client, answered, options))) sayFull();
    pauseMs = hasEnded ? Math.min(FIRST_POLL_MS, pollMs) : Math.min(pauseMs * 2, pollMs);
  }
}

/** How many batches the server works on. */
function atWork({ sent }: BatchClient): number {
  return sent.filter(isLive).length;
}

/** @returns whether a batch has ended since the last look */
async function look(client: BatchClient, { say }: Telling, isNone = false): Promise<boolean> {
  const before = new Map(client.sent.map((sent) => [sent.fileName, sent.status]));
  const atWorkBefore = atWork(client);
  await refresh(client, isNone);
  for (const { fileName, part, status } of client.sent) {
    if (status !== undefined && status !== before.get(fileName)) say(`${part}: ${status}`);
  }
  return atWork(client) < atWorkBefore;
}

/** Sends one part after the other. @returns false where one waits until the server has room */
async function sendAll(client: BatchClient, answered: Set<string>, telling: Telling): Promise<boolean> {
  const isToSend = (part: BatchPart) => !answered.has(part.file) && client.latest(part)?.batchId === undefined;
  for (;;) {
    // The run may have written the parts anew meanwhile.
    await client.readAgain();
    const part = client.parts.find(isToSend);
    if (part === undefined) return true;
    const { waitsBehind } = client.latest(part) ?? {};
    const isFull = waitsBehind !== undefined && atWork(client) > 0 && atWork(client) >= waitsBehind;
    if (isFull) return false;
    const wasFull = client.sent.some((sent) => sent.waitsBehind !== undefined);
    const sent = await send(client, part, telling);
    if (sent === undefined) answered.add(part.file);
    else if (sent.waitsBehind !== undefined) return false;
    // Where there was no room once, the next part goes out when it is known whether this one was let in.
    else if (wasFull) return true;
  }
}

/** What says, once, that parts wait for room. */
function onceFull(client: BatchClient, { say }: Telling): () => void {
  let isSaid = false;
  return () => {
    const waiting = client.sent.find((sent) => sent.waitsBehind !== undefined);
    if (isSaid || waiting === undefined) return;
    isSaid = true;
    const until =
      atWork(client) > 0
        ? 'until another batch has ended'
        : 'for room; a part that is larger than the limit by itself never gets any';
    say(`${waiting.host} takes no more tokens for now: ${waiting.part} and those behind it wait ${until}`);
  };
}

/** Notes what is to be sent once more: what has ended without a result for every request. */
async function noteAgain(client: BatchClient, { say }: Telling): Promise<void> {
  const { dir, shown } = client.opened;
  if (client.sent.some((sent) => resultsToFetch(sent).length > 0)) {
    throw new UserError(
      `there are results that are not fetched yet, and their requests would be paid for twice; first: awb batch fetch ${shown}`,
    );
  }
  const answered = await namesWithResult(dir);
  for (const part of client.parts) {
    if (client.latest(part)?.isEnded !== true) continue;
    const left = await leftOf(dir, part, answered);
    if (left === undefined) continue;
    say(`${part.file}: ${counted(left.requests, 'request')} without a result, submitted once more`);
    await client.note(undefined, sentAs(client, left));
  }
}

/**
 * Sends a part, going on where it was left. What has got its result since it was uploaded goes into no batch.
 * @returns what is known of it now; undefined where every request has its result already
 */
async function send(client: BatchClient, part: BatchPart, { step }: Telling): Promise<Sent | undefined> {
  const { dir } = client.opened;
  const begun = client.latest(part);
  const left = await leftOf(dir, part, await namesWithResult(dir));
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
    (await transfer(client, { ...left, name: sent.fileName }, step));
  return create(client, await client.note(sent, { ...sent, inputFileId }));
}

function sentAs({ api }: BatchClient, { part, name: fileName, requests, bytes }: PartToSend): Sent {
  return { part, host: api.host, requests, bytes, fileName };
}

/** A file that came over whole before the answer was lost. A server that lists none is sent it once more, which costs nothing. */
async function uploadedBefore({ api }: BatchClient, { fileName, bytes }: Sent): Promise<string | undefined> {
  const asked = await api.findFile((file) => file.filename === fileName && (file.bytes ?? bytes) === bytes);
  return asked.status === 'ok' ? asked.value?.id : undefined;
}

async function transfer({ api }: BatchClient, file: PartToSend, step: Telling['step']): Promise<string> {
  const asked = await api.upload(file, (sent) =>
    step(`${file.part}: uploading, ${Math.floor((100 * sent) / Math.max(1, file.bytes))} %`),
  );
  if (asked.status === 'refused') throw asked.stop;
  const { id, bytes = file.bytes } = asked.value;
  if (bytes === file.bytes) return id;
  throw new UserError(
    `${api.host} has ${bytes} bytes of ${file.part}, and ${file.bytes} were sent; run the same command again`,
    EXIT.unavailable,
  );
}

/** Makes a batch of what was uploaded; its mark is on the disk before the server hears of it. */
async function create(client: BatchClient, uploaded: Sent): Promise<Sent> {
  const { run, url } = client.opened.batch;
  const key = randomBytes(12).toString('hex');
  const sent = await client.note(uploaded, { ...uploaded, waitsBehind: undefined, key, isOpen: true });
  const metadata = {
    awb_key: key,
    awb_part: sent.part,
    awb_kind: run.kind,
    awb_run: basename(run.dir).slice(0, 200),
    awb_fingerprint: run.fingerprint.slice(0, 64),
  };
  const inputFileId = sent.inputFileId ?? '';
  const asked = await client.api.create({ inputFileId, url, metadata }, () => findMade(client, sent));
  if (asked.status === 'ok') return client.note(sent, heard(client, sent, asked.value));
  const unmade = { ...sent, isOpen: undefined, key: undefined };
  if (asked.isFull) return client.note(sent, { ...unmade, waitsBehind: atWork(client) });
  await client.note(sent, unmade);
  throw asked.stop;
}

/**
 * A part, or those of its requests that have no result, as a file of a name that no other upload has; undefined where there are none.
 * @throws UserError (65) for a part that is not as it was written
 */
async function leftOf(dir: string, part: BatchPart, answered: ReadonlySet<string>): Promise<PartToSend | undefined> {
  await requireAsWritten(dir, part);
  const left = async function* () {
    for await (const { bytes } of unansweredIn(dir, part, answered)) yield Buffer.concat([bytes, Buffer.from('\n')]);
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
