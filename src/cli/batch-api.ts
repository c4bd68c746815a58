// `awb batch submit`, `status`, `fetch` and `cancel`: a batch folder and the server that works it off; how the folder stands, and what to do next.

import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { closing, EXIT, type ExitCode, present, UserError, unavailable } from '../core/errors.js';
import { bytesText, counted, grouped, oneLine, printable, shellLine } from '../core/printable.js';
import { columnsOf, NONE } from '../core/table.js';
import { type Look, lookOf, terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { openAnew, putInPlace, sizeOf } from '../disk/files.js';
import { interrupted, Refused } from '../model/batch/api.js';
import { type BatchPart, isLive, resultsToFetch, type Sent, unwritable } from '../model/batch/folder.js';
import { waitOf } from '../model/schedule/outages.js';
import { systemClock } from '../model/schedule/pace.js';
import { defineCommand, type OptionTable, option, programName } from '../settings/command.js';
import { type BatchClient, openClient, readingCommand, SERVER_OPTIONS, type ServerSettings } from './batch/client.js';

const SUBMIT_OPTIONS = {
  ...SERVER_OPTIONS,
  wait: option.flag('look again and again until every batch has ended'),
  poll: option.duration('under --wait, time between two looks', { min: 0.01, default: 20 }),
  again: option.flag('submit once more what has ended without a result'),
} as const satisfies OptionTable;

export const submit = defineCommand({
  description:
    "Submits a batch folder's parts to a server with OpenAI's Files and Batches API. The same command goes on where it ended, and submits nothing twice. Exit code 0: all batches have ended; 75: they are awaited; 3: a part came to less than it should.",
  examples: {
    'awb batch submit B --base-url https://api.openai.com/v1': 'all parts; the key is OPENAI_API_KEY',
    'awb batch submit B --wait && awb batch fetch B': 'wait until all have ended, then fetch',
    'awb batch submit B --again': 'once more what failed or expired',
  },
  options: SUBMIT_OPTIONS,
  operands: ['batch-dir'],
  async run({ again, wait, poll, ...settings }, io) {
    const work = (client: BatchClient) => submitParts(client, again, wait, poll * 1000);
    return exitCodeOf(await withClient('submit', settings, io, work));
  },
});

export const status = defineCommand({
  description:
    'Shows how far the batches of a folder are: state, requests done and failed, age, and when they expire. It changes nothing. Exit code 0: all have ended; 75: some have not; 3: a part came to less than it should.',
  examples: {
    'awb batch status B': 'a line a part',
    "awb batch status B --json | jq '.parts[].state'": 'for a script',
  },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: async (settings, io) => exitCodeOf(await withClient('status', settings, io, (client) => client.refresh(true))),
});

export const fetch = defineCommand({
  description:
    'Fetches the results of batches that have ended, whole or in part, into outputs-0001.jsonl and errors-0001.jsonl of the folder. Nothing is fetched twice. Exit code 0: everything is here; 75: batches are awaited; 3: a part came to less than it should.',
  examples: { 'awb batch fetch B': 'whatever has come; then the command that wrote B, once more' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    const standing = await withClient('fetch', settings, io, async (client) => {
      await client.refresh();
      await fetchResults(client);
    });
    return standing.fetched ? exitCodeOf(standing) : EXIT.later;
  },
});

export const cancel = defineCommand({
  description:
    'Cancels every batch of a folder that has not ended. What was answered by then is charged, and awb batch fetch gets it.',
  examples: { 'awb batch cancel B': 'then awb batch fetch B, for what was done' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    await withClient('cancel', settings, io, cancelBatches);
    return EXIT.done;
  },
});

/**
 * Opens the folder and its server, does the work, and prints how the folder stands then.
 * @throws UserError as opening and the work do; everything that was reached stands on the disk
 */
async function withClient(
  command: Parameters<typeof openClient>[0],
  settings: ServerSettings,
  io: Io,
  work: (client: BatchClient) => Promise<void>,
): Promise<Standing> {
  return closing(await openClient(command, settings, io), async (client) => {
    io.setLastWords('ended at once: whatever was submitted is found again by the same command');
    await work(client);
    client.loading.finish();
    const standing = await standingOf(client);
    const text = () => standingText(client, standing, lookOf(settings, io));
    io.stdout.write(settings.json ? `${JSON.stringify(standing, null, 2)}\n` : text());
    return standing;
  });
}

/** What a server answers for a batch that has ended meanwhile. */
const TOO_LATE = [400, 404, 409];

/** Tells every batch that has not ended to end; what it has done by then can be fetched. */
async function cancelBatches(client: BatchClient): Promise<void> {
  await client.refresh();
  let cancelled = 0;
  for (const sent of client.sent) {
    if (!isLive(sent) || sent.status === 'cancelling') continue;
    const served = await unlessRefused(client.api.cancel(sent.batchId ?? ''), ({ http }) => TOO_LATE.includes(http));
    if (served === undefined) continue;
    await client.noteServed(sent, served);
    cancelled++;
  }
  // What ended in between is told as it is now.
  await client.refresh();
  client.loading.say(
    cancelled === 0 ? 'nothing was left to cancel' : `${counted(cancelled, 'batch', 'batches')} cancelled`,
  );
}

/** How a folder stands, as `--json` prints it. */
type Standing = Awaited<ReturnType<typeof standingOf>>;
type PartStanding = Standing['parts'][number];

async function standingOf(client: BatchClient) {
  const { dir, batch, api } = client;
  const answered = await client.answered();
  const parts = [];
  for (const part of batch.parts) parts.push(await standingOfPart(client, part, answered));
  return {
    schema: 'awb.batch-status/1',
    folder: dir,
    base_url: api.baseUrl,
    run: { kind: batch.run.kind, dir: batch.run.dir },
    /** Nothing is waited for. */
    ended: parts.every((part) => part.ended),
    fetched: parts.every((part) => part.fetched),
    parts,
  };
}

/** What a command ends with that shows how the folder stands. */
function exitCodeOf({ ended, parts }: Standing): ExitCode {
  if (!ended) return EXIT.later;
  return parts.some(({ short }) => short) ? EXIT.incomplete : EXIT.done;
}

async function standingOfPart(client: BatchClient, part: BatchPart, answered: ReadonlySet<string>) {
  const sent = client.latest(part);
  const times = client.sent.filter((each) => each.part === part.file);
  const isFetched = sent?.isEnded === true && times.every((each) => resultsToFetch(each).length === 0);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const without: string[] = [];
  if (isFetched || !isMade) for await (const { id } of client.disk.requestsIn(part, answered)) without.push(id);
  const isAnswered = !isMade && without.length === 0;
  // Whatever the server says of the batch: it may have completed without a result for each request.
  const missing = isFetched ? without.length : 0;
  return {
    file: part.file,
    requests: part.requests,
    bytes: part.bytes,
    state: isAnswered ? 'answered' : stateOf(sent),
    ended: isAnswered || sent?.isEnded === true,
    /** What was sent of it has ended, and every result that the server has of it is here. */
    fetched: isAnswered || isFetched,
    /** It has come to nothing, or to less than it should have. */
    short: missing > 0,
    missing,
    first_missing: missing === 0 || missing === part.requests ? null : (without[0] ?? null),
    sent_requests: sent?.requests ?? null,
    input_file_id: sent?.inputFileId ?? null,
    batch_id: sent?.batchId ?? null,
    completed: sent?.counts?.completed ?? null,
    failed: sent?.counts?.failed ?? null,
    created_at: sent?.createdAt ?? null,
    expires_at: sent?.expiresAt ?? null,
    outputs: sent?.outputs?.file ?? null,
    errors: sent?.errors?.file ?? null,
    problems: sent?.problems ?? [],
  };
}

/** As the server says it, or, where it has said nothing, as it is from here. */
function stateOf(sent: Sent | undefined): string {
  if (sent?.status !== undefined && (isLive(sent) || sent.isEnded)) return sent.status;
  if (sent?.waitsBehind !== undefined) return 'waits for room';
  if (sent?.isOpen) return 'being made';
  return sent?.inputFileId === undefined ? 'not submitted' : 'uploaded';
}

const COLUMNS = columnsOf('<Part, Requests|Req., <State, Done, Failed|Fail., Age, Expires|Exp.');
/** How many errors of a part are told. */
const MOST_PROBLEMS = 3;

/** The table, what went wrong, and what to do next. */
function standingText(client: BatchClient, standing: Standing, look: Look): string {
  const { shown, batch, api } = client;
  const { parts } = standing;
  const now = Date.now();
  const footnotes = [problemsOf, missingNotes].flatMap((notes) => parts.flatMap(notes));
  const table = { columns: COLUMNS, groups: [parts.map((part) => cellsOf(part, now))], footnotes };
  const requests = parts.reduce((sum, part) => sum + part.requests, 0);
  const head = `${shown}: ${counted(requests, 'request')} for ${printable(batch.model)}, at ${api.host}`;
  return `${head}\n${terminal(table, look)}next: ${nextStep(client, standing)}\n`;
}

function cellsOf(part: PartStanding, now: number): string[] {
  const { state, completed, failed, created_at: createdAt, expires_at: expiresAt } = part;
  const isHere = part.fetched && (part.outputs ?? part.errors) !== null;
  return [
    part.file,
    grouped(part.sent_requests ?? part.requests),
    isHere ? `${state}, fetched` : state,
    completed === null ? NONE : grouped(completed),
    failed === null ? NONE : grouped(failed),
    createdAt === null ? NONE : waitOf(Math.max(0, now - createdAt * 1000)),
    expiresAt === null || part.ended ? NONE : `in ${waitOf(Math.max(0, expiresAt * 1000 - now))}`,
  ];
}

function problemsOf({ file, problems }: PartStanding): string[] {
  return problems.slice(0, MOST_PROBLEMS).map(({ code, message, line }) => {
    const what = [code, message].filter((text) => text !== '').join(': ');
    return `${file}${line === undefined ? '' : `:${line}`}: ${what}`;
  });
}

function missingNotes({ file, requests, missing, first_missing: first }: PartStanding): string[] {
  const which = first === null ? '' : `, the first is ${oneLine(first, 80)}`;
  return missing === 0 ? [] : [`${file}: no result for ${grouped(missing)} of ${counted(requests, 'request')}${which}`];
}

/** What to type next, or what to wait for. */
function nextStep({ shown, batch, access, io }: BatchClient, { ended, parts }: Standing): string {
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words, ...access])}`;
  if (parts.some((part) => part.ended && !part.fetched)) return command('fetch', shown);
  if (parts.some((part) => !part.ended && part.batch_id === null)) return command('submit', shown);
  if (!ended) return `${command('status', shown)}, until all have ended (or submit --wait)`;
  if (!parts.some(({ short }) => short)) return readingCommand(batch, io);
  const again = `${command('submit', shown, '--again')}, since requests have no result`;
  return parts.some(({ problems }) => problems.length > 0) ? `mend what is said above, then ${again}` : again;
}

// What goes to a server of batches and comes back: parts are submitted once, whatever happens in between, and results fetched once.

/**
 * Submits what is not submitted. With `wait` it resolves when all batches have ended, and looks every `pollMs`; with `again` parts
 * whose batches have ended without results for all requests are sent once more, as far as these have none.
 * @throws UserError where the server refuses, or was not reached in time; the same call goes on
 */
async function submitParts(client: BatchClient, again: boolean, wait: boolean, pollMs: number): Promise<void> {
  const { api, io, loading } = client;
  const isEnded = (part: BatchPart) => client.latest(part)?.isEnded === true;
  /** Parts of which every request has its result. */
  const answered = new Set<string>();
  let isSaid = false;
  await client.refresh(again);
  if (again) await noteAgain(client, client.batch.parts.filter(isEnded));
  for (;;) {
    const waiting = await sendAll();
    if (waiting !== undefined && !isSaid) {
      loading.say(`${api.host} takes no more tokens for now: ${waiting} and those behind it wait for a batch to end`);
    }
    isSaid ||= waiting !== undefined;
    if (!wait || client.batch.parts.every((part) => answered.has(part.file) || isEnded(part))) return;
    await systemClock.sleep(pollMs, io.stop);
    if (io.stop.aborted) throw interrupted(io.stop);
    await client.refresh();
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
async function fetchResults(client: BatchClient): Promise<void> {
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
          : `${file}: ${bytesText(bytes)}`,
      );
    }
  }
}

/** What was asked for; undefined where the server has refused it in such a way. */
async function unlessRefused<T>(asked: Promise<T>, isIt: (refused: Refused) => boolean): Promise<T | undefined> {
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
        client.loading.step(
          'batch',
          `${file}: ${bytesText(bytes)}${told === undefined ? '' : ` of ${bytesText(told)}`}`,
        );
      };
    });
    if (bytes > most || bytes !== (told ?? bytes)) {
      const due = told ?? `at most ${bytesText(MOST_REPLY_BYTES)} for each request`;
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
