// `awb batch submit`, `status`, `fetch` and `cancel`: a batch folder and the server that answers it; the folder's state and the next step.

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
  wait: option.flag('poll until every batch has ended'),
  poll: option.duration('time between polls of --wait', { min: 0.01, default: 20 }),
  again: option.flag('resubmit requests that ended without a result'),
} as const satisfies OptionTable;

export const submit = defineCommand({
  description:
    "Submits a batch folder's parts to a server with OpenAI's Files and Batches API. The same command continues where it stopped, and submits nothing twice. Exit code 0: all batches have ended; 75: some have not; 3: requests have no result.",
  examples: {
    'awb batch submit B --base-url https://api.openai.com/v1': 'all parts; the key is OPENAI_API_KEY',
    'awb batch submit B --wait && awb batch fetch B': 'wait until all have ended, then fetch',
    'awb batch submit B --again': 'resubmit what failed or expired',
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
    'Shows the progress of the batches of a folder: state, requests done and failed, age, and time until they expire. It changes nothing. Exit code 0: all have ended; 75: some have not; 3: requests have no result.',
  examples: {
    'awb batch status B': 'a line per part',
    "awb batch status B --json | jq '.parts[].state'": 'for a script',
  },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: async (settings, io) => exitCodeOf(await withClient('status', settings, io, (client) => client.refresh(true))),
});

export const fetch = defineCommand({
  description:
    'Fetches the results of ended batches, complete or partial, into outputs-0001.jsonl, errors-0001.jsonl and so on in the folder. Nothing is fetched twice. Exit code 0: everything is fetched; 75: batches are still running; 3: requests have no result.',
  examples: { 'awb batch fetch B': 'fetch what is ready; then repeat the command that wrote B' },
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
    'Cancels the batches of a folder that have not ended. Requests answered by then are charged; awb batch fetch gets their results.',
  examples: { 'awb batch cancel B': 'cancel; then awb batch fetch B gets the finished results' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    await withClient('cancel', settings, io, cancelBatches);
    return EXIT.done;
  },
});

/**
 * Opens the folder and its server, does the work, and prints the folder's state.
 * @throws UserError as opening and the work do; all progress is already on disk
 */
async function withClient(
  command: Parameters<typeof openClient>[0],
  settings: ServerSettings,
  io: Io,
  work: (client: BatchClient) => Promise<void>,
): Promise<Standing> {
  return closing(await openClient(command, settings, io), async (client) => {
    io.setLastWords('stopped immediately: the same command finds what was submitted');
    await work(client);
    client.loading.finish();
    const standing = await standingOf(client);
    const text = () => standingText(client, standing, lookOf(settings, io));
    io.stdout.write(settings.json ? `${JSON.stringify(standing, null, 2)}\n` : text());
    return standing;
  });
}

/** HTTP statuses that a server returns for a batch that has already ended. */
const TOO_LATE = [400, 404, 409];

/** Cancels every batch that has not ended. Results finished by then can be fetched. */
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
  // Batches may have ended in between.
  await client.refresh();
  client.loading.say(cancelled === 0 ? 'nothing to cancel' : `${counted(cancelled, 'batch', 'batches')} cancelled`);
}

/** The state of a folder, as `--json` prints it. */
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
    /** No batch is awaited. */
    ended: parts.every((part) => part.ended),
    fetched: parts.every((part) => part.fetched),
    parts,
  };
}

/** The exit code for a folder's state. */
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
  // Counted here, since a batch may be completed according to the server and still lack results.
  const missing = isFetched ? without.length : 0;
  return {
    file: part.file,
    requests: part.requests,
    bytes: part.bytes,
    state: isAnswered ? 'answered' : stateOf(sent),
    ended: isAnswered || sent?.isEnded === true,
    /** Every batch sent for it has ended, and all results that the server has are here. */
    fetched: isAnswered || isFetched,
    /** All or some of its requests ended without a result. */
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

/** The server's status, or, if it has given none, the state as known here. */
function stateOf(sent: Sent | undefined): string {
  if (sent?.status !== undefined && (isLive(sent) || sent.isEnded)) return sent.status;
  if (sent?.waitsBehind !== undefined) return 'waiting for room';
  if (sent?.isOpen) return 'being created';
  return sent?.inputFileId === undefined ? 'not submitted' : 'uploaded';
}

const COLUMNS = columnsOf('<Part, Requests|Req., <State, Done, Failed|Fail., Age, Expires|Exp.');
/** How many errors of a part are shown. */
const MOST_PROBLEMS = 3;

/** The table, the errors and the next step. */
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
  const which = first === null ? '' : `, first ${oneLine(first, 80)}`;
  return missing === 0 ? [] : [`${file}: no result for ${grouped(missing)} of ${counted(requests, 'request')}${which}`];
}

/** The next command, or what to wait for. */
function nextStep({ shown, batch, access, io }: BatchClient, { ended, parts }: Standing): string {
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words, ...access])}`;
  if (parts.some((part) => part.ended && !part.fetched)) return command('fetch', shown);
  if (parts.some((part) => !part.ended && part.batch_id === null)) return command('submit', shown);
  if (!ended) return `${command('status', shown)}, until all have ended (or use submit --wait)`;
  if (!parts.some(({ short }) => short)) return readingCommand(batch, io);
  const again = `${command('submit', shown, '--again')}, since some requests have no result`;
  return parts.some(({ problems }) => problems.length > 0) ? `fix the errors above, then ${again}` : again;
}

// Traffic with a batch server: parts are submitted once, whatever interrupts it, and results fetched once.

/**
 * Submits parts that are not yet submitted. With `wait` it polls every `pollMs` and resolves when all batches have ended. With `again`
 * it resubmits the requests of ended batches that have no result.
 * @throws UserError if the server refuses, or was not reached in time; the same call continues
 */
async function submitParts(client: BatchClient, again: boolean, wait: boolean, pollMs: number): Promise<void> {
  const { api, io, loading } = client;
  const isEnded = (part: BatchPart) => client.latest(part)?.isEnded === true;
  /** Parts whose requests all have results. */
  const answered = new Set<string>();
  let isSaid = false;
  await client.refresh(again);
  if (again) await noteAgain(client, client.batch.parts.filter(isEnded));
  for (;;) {
    const waiting = await sendAll();
    if (waiting !== undefined && !isSaid) {
      loading.say(`${api.host} accepts no more tokens for now: ${waiting} and later parts wait for a batch to end`);
    }
    isSaid ||= waiting !== undefined;
    if (!wait || client.batch.parts.every((part) => answered.has(part.file) || isEnded(part))) return;
    await systemClock.sleep(pollMs, io.stop);
    if (io.stop.aborted) throw interrupted(io.stop);
    await client.refresh();
  }

  /** Sends one part after another. @returns the part that waits until the server has room */
  async function sendAll(): Promise<string | undefined> {
    const isToSend = (part: BatchPart) => !answered.has(part.file) && client.latest(part)?.batchId === undefined;
    for (;;) {
      // The run may have rewritten the parts meanwhile, since this command may wait for hours.
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

/** Records what to resubmit, so that the next command continues an interrupted one. @throws UserError if results are waiting */
async function noteAgain(client: BatchClient, ended: readonly BatchPart[]): Promise<void> {
  if (client.sent.some((sent) => resultsToFetch(sent).length > 0)) {
    throw new UserError(
      `results are ready, and resubmitting pays for them twice; fetch them first: awb batch fetch ${client.shown}`,
    );
  }
  for (const part of ended) {
    const { fresh } = (await leftOf(client, part)) ?? {};
    if (fresh === undefined) continue;
    client.loading.say(`${part.file}: ${counted(fresh.requests, 'request')} without a result, to be resubmitted`);
    await client.note(undefined, fresh);
  }
}

/**
 * Uploads the requests of a part that have no result, and creates a batch for them, continuing where an earlier command stopped.
 * @returns the state of what was sent; undefined if every request already has its result
 */
async function send(client: BatchClient, part: BatchPart): Promise<Sent | undefined> {
  const { api, loading } = client;
  const begun = client.latest(part);
  const left = await leftOf(client, part);
  if (left === undefined) {
    // A part that waited for room no longer needs it.
    if (begun !== undefined) await client.note(begun, { ...begun, waitsBehind: undefined });
    return undefined;
  }
  const { read, fresh } = left;
  const { bytes } = fresh;
  // Results are only ever added, so an equal number of requests means the same requests.
  const isThat = begun !== undefined && begun.requests === fresh.requests && begun.bytes === bytes;
  const sent = isThat ? begun : await client.note(begun, fresh);
  if (sent.inputFileId !== undefined) return create(client, sent);
  // A file whose upload was not confirmed is uploaded again, which costs nothing.
  const served = await api.upload({ name: sent.fileName, bytes, read }, (done) =>
    loading.step('batch', `${part.file}: uploading, ${Math.floor((100 * done) / Math.max(1, bytes))} %`),
  );
  if ((served.bytes ?? bytes) !== bytes) {
    throw unavailable(`${api.host} has ${served.bytes} of ${bytes} bytes of ${part.file}; run the same command again`);
  }
  return create(client, await client.note(sent, { ...sent, inputFileId: served.id }));
}

/** Creates a batch from an upload. Its key is on disk before the request is sent. */
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
 * The requests of a part that have no result, as a file with a unique name; undefined if there are none.
 * @throws UserError (65) for a part that has changed since it was written
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

/** Largest result of a request, assumed if a server does not state the file's size. */
const MOST_REPLY_BYTES = 4_000_000;
/** HTTP statuses that a server returns for a file that it no longer has. */
const GONE = [404, 410];

/** Fetches the results that are ready. */
async function fetchResults(client: BatchClient): Promise<void> {
  const { api, dir, loading } = client;
  for (const place of client.sent.keys()) {
    for (const { kind, id } of resultsToFetch(present(client.sent[place]))) {
      // Read each time: the record is replaced with each file.
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
          ? `${api.host} no longer has the ${kind} of ${sent.part} (${id}): their requests have no result`
          : `${file}: ${bytesText(bytes)}`,
      );
    }
  }
}

/** The result of a call; undefined if the server refused it and `isIt` accepts the refusal. */
async function unlessRefused<T>(asked: Promise<T>, isIt: (refused: Refused) => boolean): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (!(error instanceof Refused) || !isIt(error)) throw error;
    return undefined;
  });
}

/**
 * `outputs-0001.jsonl`, or `outputs-0001-2.jsonl` and so on if that name is taken. After a kill right after the renaming, a file may
 * exist that submission.json does not list; if it has the size that the server states, it is this file.
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
 * @param told its size in bytes by the server
 * @param most the most bytes to accept
 * @returns its bytes
 */
async function download(client: BatchClient, id: string, file: string, told: number | undefined, most: number) {
  const path = join(client.dir, file);
  // Nothing looks for results under this name.
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
      throw unavailable(`${file} arrived with the wrong number of bytes (expected ${due}); run the same command again`);
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
