// A batch folder on the disk: its files of requests and of results, batch.json, which says what was written for whom, and
// submission.json, which says what was sent.

import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { badData, cannotWrite, codeOf, inputMissing, present, refusedBy, throwIfStopped } from '../../core/errors.js';
import { asObject, isInteger, isObject, type JsonObject, parseObject } from '../../core/json.js';
import { counted, oneLine } from '../../core/printable.js';
import { bytesAt, type Place, replaceFile, sha256Of } from '../../disk/files.js';
import { type Line, splitLines } from '../../disk/lines.js';
import type { ServedBatch } from './api.js';

/** The most that a file of requests may contain, according to OpenAI's batch API. */
export const MOST_REQUESTS = 50_000;
export const MOST_BYTES = 190_000_000;

const PART = /^requests-(\d{4,})\.jsonl$/;
/** Remains of a killed writer of batch.json or of a file of requests. */
const REMAINS = /^(?:batch\.json|requests-\d{4,}\.jsonl)\.(?:[0-9a-f]{12}\.)?tmp$/;
const REMEDY = 'all earlier files are complete: free some space or fix its permissions, and run the same command again';

const count = z.int().nonnegative();
/** The name leads to no other folder. */
const PART_NAME = z.string().regex(PART);
const PART_SCHEMA = z.object({ file: PART_NAME, requests: count.max(MOST_REQUESTS), bytes: count, sha256: z.string() });
const OBJECT = z.record(z.string(), z.unknown());
const BATCH_SCHEMA = z.object({
  /** The run that these requests belong to; the folder is absolute. */
  run: z.object({ kind: z.string(), dir: z.string(), fingerprint: z.string(), identity: OBJECT }),
  model: z.string(),
  /** Where the requests are sent. */
  url: z.enum(['/v1/chat/completions', '/v1/completions']),
  /** Where the parameters were tried out, without credentials; absent if they were assumed. */
  baseUrl: z.string().optional(),
  /** Parameters that are left out because they were rejected. */
  dropped: z.array(z.string()).readonly(),
  /** The reply's bound is sent as `max_completion_tokens`. */
  isRenamed: z.literal(true).optional(),
  /** The command that wrote the folder: the words after the program's name, and the folder in which they were typed. */
  command: z.object({ cwd: z.string(), words: z.array(z.string()).readonly() }).optional(),
  /** In the order of writing. A file of requests that is not listed is a torn leftover. */
  parts: z.array(PART_SCHEMA).readonly(),
});

/** A file of results in the folder. */
const FETCHED = z.object({ file: z.string(), bytes: count }).optional();
const SENT = z.object({
  /** The file of requests. */
  part: PART_NAME,
  /** Host and port that it was sent to. */
  host: z.string(),
  requests: count,
  bytes: count,
  /** The server's name for the file, which no other upload has. */
  fileName: z.string(),
  inputFileId: z.string().optional(),
  /** Part of the batch's metadata, so that a batch without an answer can be found again. */
  key: z.string().optional(),
  /** A batch may exist under this key, but no answer has confirmed it yet. */
  isOpen: z.literal(true).optional(),
  /** Refused because too many tokens were already waiting: the number of this folder's batches before it, one of which has to end first. */
  waitsBehind: count.optional(),
  batchId: z.string().optional(),
  status: z.string().optional(),
  isEnded: z.literal(true).optional(),
  /** Seconds since 1970. */
  createdAt: z.number().optional(),
  expiresAt: z.number().optional(),
  counts: z.object({ total: count, completed: count, failed: count }).optional(),
  problems: z.array(z.object({ code: z.string(), message: z.string(), line: z.int().optional() })).optional(),
  outputFileId: z.string().optional(),
  errorFileId: z.string().optional(),
  outputs: FETCHED,
  errors: FETCHED,
  /** Files of results that the server no longer has. */
  lost: z.array(z.string()).optional(),
});
const SUBMISSION_SCHEMA = z.object({
  /** Without credentials. */
  baseUrl: z.string(),
  /** In the order of sending. */
  sent: z.array(SENT).readonly(),
});

/** The content of batch.json. */
export type Batch = z.infer<typeof BATCH_SCHEMA>;
/** A completely written file of requests. */
export type BatchPart = z.infer<typeof PART_SCHEMA>;
/** A part, or the rest of one, as it was sent once. */
export type Sent = Readonly<z.infer<typeof SENT>>;

/** The name of a file of requests, by its number from 1. */
export function partName(number: number): string {
  return `requests-${String(number).padStart(4, '0')}.jsonl`;
}

/** What is known about a batch, updated with what the server says now. */
export function withServed(sent: Sent, { id, inputFileId: _, metadata: __, ...said }: ServedBatch): Sent {
  const isEnded = said.isEnded || undefined;
  return { ...sent, isOpen: undefined, waitsBehind: undefined, batchId: id, ...said, isEnded };
}

/** Whether the server still works on it. */
export function isLive({ batchId, isEnded }: Sent): boolean {
  return batchId !== undefined && !isEnded;
}

/** The files of results that the server has and that are not here yet; none while it is at work. */
export function resultsToFetch({ isEnded, outputFileId, errorFileId, outputs, errors, lost = [] }: Sent) {
  if (!isEnded) return [];
  const files = [
    { kind: 'outputs', id: outputs === undefined ? outputFileId : undefined },
    { kind: 'errors', id: errors === undefined ? errorFileId : undefined },
  ] as const;
  return files.flatMap(({ kind, id }) => (id === undefined || lost.includes(id) ? [] : [{ kind, id }]));
}

/** A disk error while writing `path` as a UserError (74); other errors are returned unchanged. */
export function unwritable(path: string, error: unknown): unknown {
  return refusedBy(error, (code) => cannotWrite(`cannot write ${path} (${code}); ${REMEDY}`));
}

/** A disk error while reading `path` as a UserError (66); other errors are returned unchanged. */
function unreadable(path: string, error: unknown): unknown {
  const remedy = 'fix its permissions, or use another folder';
  return refusedBy(error, (code) => inputMissing(`cannot read ${path} (${code}); ${remedy}`));
}

/** Longer job ids are hashed, so that a complete id has at most 64 characters. */
const LONGEST_JOB = 40;
const DIGEST = 10;

/**
 * `<job>_<attempt>_<digest of the body>`: letters, digits, `-`, `_` and `.`. A request that would be made differently now gets another
 * id, so that no earlier result is used as its answer.
 * @param job the job's id, as in the journal
 * @param attempt requests made for the job before this one
 */
export function requestId(job: string, attempt: number, body: string): string {
  return `${jobName(job)}_${attempt}_${digestOf(body, DIGEST)}`;
}

/** The job's part of an id. */
export function jobIn(id: string): string {
  return id.slice(0, id.lastIndexOf('_', id.lastIndexOf('_') - 1));
}

/**
 * A job's id in the form used by requests. No two jobs share it: neither the character that replaces `#` nor the prefix of a hash can
 * occur otherwise.
 */
export function jobName(job: string): string {
  const text = job.replaceAll('#', '.');
  const isPlain = /^[A-Za-z0-9#-]+$/.test(job) && text.length <= LONGEST_JOB;
  return isPlain ? text : `_${digestOf(job, LONGEST_JOB - 1)}`;
}

function digestOf(text: string, digits: number): string {
  return hash('sha256', text, 'hex').slice(0, digits);
}

const CHUNK = 1 << 20;
/**
 * The form in which this program writes a request; a file with the hash of batch.json contains nothing else, so its body can be cut out
 * verbatim.
 */
const HEAD = /^\{"custom_id":"([\w.~-]{1,64})"/;
const HEAD_BYTES = 96;
const WHOLE = /^\{"custom_id":"[\w.~-]{1,64}","method":"POST","url":"[^"\\]*","body":(\{.*\})\}\s*$/s;

export type BatchFolder = ReturnType<typeof folderAt>;

/** The files of a batch folder. Whatever reads one throws a UserError of 66 if it cannot be read. */
export function folderAt(dir: string) {
  return {
    /** batch.json: what was written into the folder, and for whom. */
    batch: documentAt(join(dir, 'batch.json'), 'awb.batch/2', BATCH_SCHEMA, 'restore it, or use another folder'),
    /** submission.json: what was submitted of it. */
    submission: documentAt(
      join(dir, 'submission.json'),
      'awb.batch-submission/1',
      SUBMISSION_SCHEMA,
      'restore it: nothing else records what was submitted',
    ),
    writeParts,
    clearRemains,
    readRequests,
    requestsIn,
    requireAsWritten,
    resultFiles,
    /** What its files of results say. @throws UserError: 66 if one cannot be read, 130, 143 */
    results: async (stop?: AbortSignal) => openResults(dir, await resultFiles(), stop),
  };

  /**
   * Writes requests, one line each including its end, into files of at most the given requests and bytes, from the next free number on.
   * `list` receives each complete file: what a kill leaves is not listed, and is written again.
   * @throws UserError (74) if the disk refuses, and what `lines` throws
   */
  async function writeParts(
    before: readonly Pick<BatchPart, 'file'>[],
    lines: AsyncIterator<string>,
    list: (part: BatchPart) => Promise<void>,
    most = { requests: MOST_REQUESTS, bytes: MOST_BYTES },
  ): Promise<void> {
    let number = 1 + Number(PART.exec(before.at(-1)?.file ?? '')?.[1] ?? 0);
    let next = await lines.next();
    while (!next.done) {
      let [requests, bytes] = [0, 0];
      const file = partName(number++);
      const fill = async function* () {
        while (!next.done) {
          const length = Buffer.byteLength(next.value);
          const isFull = requests >= most.requests || bytes + length > most.bytes;
          if (isFull && requests > 0) return;
          requests++;
          bytes += length;
          yield next.value;
          next = await lines.next();
        }
      };
      // A file of that name is not listed: it is a torn leftover, or a link that somebody planted there.
      await rm(join(dir, file), { force: true });
      const written = await replaceFile(join(dir, file), fill(), { remedy: REMEDY });
      await list({ file, requests, ...written });
    }
  }

  /** Removes what killed runs left half-written. Only for a run that has the folder to itself. */
  async function clearRemains(): Promise<void> {
    for (const name of await readdir(dir)) {
      if (REMAINS.test(name)) await rm(join(dir, name), { force: true });
    }
  }

  /** All requests in the parts, with the file of each. @throws UserError: 65 as below, 130, 143 */
  async function readRequests(parts: readonly BatchPart[], stop: AbortSignal): Promise<Map<string, string>> {
    const requests = new Map<string, string>();
    for (const part of parts) {
      await requireAsWritten(part);
      throwIfStopped(stop);
      for await (const { id } of requestsIn(part)) requests.set(id, part.file);
    }
    return requests;
  }

  /**
   * The requests of a part that are not among the answered ones, each with its line and place. The bytes are valid until the next one.
   * @throws UserError (65) for a line that is not a request
   */
  async function* requestsIn(
    { file }: BatchPart,
    answered: ReadonlySet<string> = new Set(),
  ): AsyncGenerator<Place & Readonly<{ id: string; bytes: Uint8Array }>> {
    const path = join(dir, file);
    for await (const { bytes, offset, number } of linesIn(path)) {
      const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES));
      const [, id] = HEAD.exec(head.toString('latin1')) ?? [];
      if (id === undefined) throw badData(`${path}:${number} is not a request; restore the file`);
      if (!answered.has(id)) yield { id, bytes, path, offset, length: bytes.length };
    }
  }

  /** @throws UserError: 65 for a part that was changed after writing, 66 for one that is missing or cannot be read */
  async function requireAsWritten({ file, sha256 }: BatchPart): Promise<void> {
    const path = join(dir, file);
    const remedy = 'restore it, or start the run over with --fresh';
    const found = await sha256Of(path).catch((error: unknown) => {
      throw codeOf(error) === 'ENOENT' ? inputMissing(`${path} is missing; ${remedy}`) : unreadable(path, error);
    });
    if (found === sha256) return;
    throw badData(`${path} was changed after it was written (batch.json has a different SHA-256); ${remedy}`);
  }

  /**
   * Names of the files that may contain results, sorted: every `*.jsonl` that is not a file of requests. None if there is no folder.
   * @throws UserError (65) for one that is not a regular file, such as a pipe, which would never end
   */
  async function resultFiles(): Promise<string[]> {
    const names = await readdir(dir).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw unreadable(dir, error);
    });
    const files = names.filter((name) => name.endsWith('.jsonl') && !PART.test(name)).sort();
    for (const name of files) {
      const path = join(dir, name);
      if ((await stat(path).catch(() => undefined))?.isFile()) continue;
      throw badData(
        `${path} is not a regular file, and results are read from every *.jsonl in a batch folder: move it away`,
      );
    }
    return files;
  }
}

function documentAt<Form extends z.ZodType<object>>(path: string, schema: string, form: Form, remedy: string) {
  return {
    /** Undefined if there is none. @throws UserError: 66 if it cannot be read, 65 if it is damaged */
    async read(): Promise<z.infer<Form> | undefined> {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw unreadable(path, error);
      });
      if (text === undefined) return undefined;
      const { schema: found, ...document } = parseObject(text) ?? {};
      const read = form.safeParse(document);
      if (found === schema && read.success) return read.data;
      throw badData(`${path} is damaged, or from another version of awb; ${remedy}`);
    },
    /** Replaces the previous one as a whole. @throws UserError (74) if the disk refuses */
    async write(document: z.infer<Form>): Promise<void> {
      await replaceFile(path, [`${JSON.stringify({ schema, ...document }, null, 2)}\n`], { remedy: REMEDY });
    },
  };
}

/** The lines of a file. @throws UserError (66) if it cannot be read */
async function* linesIn(path: string): AsyncGenerator<Line> {
  try {
    yield* splitLines(createReadStream(path, { highWaterMark: CHUNK }));
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The body in a request's line, verbatim. */
export function bodyIn(line: string): string {
  return present(WHOLE.exec(line)?.[1]);
}

// The results: which lines answer which requests, in any shape that engines write. Nothing in them is trusted.

/**
 * What a line says about its request: an answer, as a server would have sent it, or that nobody worked on it because the batch expired
 * or was cancelled.
 */
type Result = { readonly status: number | undefined; readonly body: string } | 'unasked';

/** Codes of requests that nobody worked on. */
const UNASKED = /^(?:batch|request)_(?:expired|cancell?ed)$/;

function parseLine(bytes: Uint8Array): JsonObject | undefined {
  return parseObject(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
}

/**
 * Reads a parsed line: OpenAI's shape (`response` with `status_code` and `body`, or `error`), vLLM's (whose errors are next to a
 * response without a body), or a completion directly under `response`. Undefined for what is not a result, such as a request.
 */
export function readResult(line: JsonObject): Result | undefined {
  try {
    return resultOf(line);
  } catch (error) {
    // No engine writes anything nested so deeply that it cannot be serialised again.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function resultOf({ response, error }: JsonObject): Result | undefined {
  if (UNASKED.test(String(asObject(error).code))) return 'unasked';
  if (!isObject(response)) return isSaid(error) ? { status: undefined, body: errorText(error) } : undefined;
  const isWrapped = 'body' in response || 'status_code' in response;
  const body = isWrapped ? response.body : response;
  const status = isWrapped && isInteger(response.status_code) ? response.status_code : undefined;
  if (isObject(body) && isGood(status ?? 200)) return { status: status ?? 200, body: JSON.stringify(body) };
  if (isSaid(body)) return { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  return { status, body: isSaid(error) ? errorText(error) : '' };
}

/** Whether an answer with that status is a completion. */
export function isGood(status: number): boolean {
  return status >= 200 && status <= 299;
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** An error in the form of an answer's body. */
function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return JSON.stringify(isObject(error) && 'error' in error ? error : { error });
}

/** How many ids, and how many places, are named. */
const MOST_NAMED = 5;
const MOST_NAME_COLUMNS = 64;

export type Results = Awaited<ReturnType<typeof openResults>>;

/**
 * The contents of all files of a folder that are not requests; each line is read when its turn comes.
 * @throws UserError: 66 if a file cannot be read, 130, 143
 */
async function openResults(dir: string, names: readonly string[], stop?: AbortSignal) {
  /** By request id, the lines that answer it, in the order of the files' names. */
  const lines = new Map<string, Place[]>();
  const [cutOff, odd]: [string[], string[]] = [[], []];
  for (const name of names) {
    const path = join(dir, name);
    for await (const { bytes, offset, number, ended, tooLong } of linesIn(path)) {
      throwIfStopped(stop);
      const line = tooLong ? undefined : parseLine(bytes);
      const place = `${shownName(name)}:${number}`;
      if (line === undefined && !ended) cutOff.push(place);
      // A copy of the requests answers none of them.
      else if (typeof line?.custom_id !== 'string' || readResult(line) === undefined) odd.push(place);
      else {
        const found = { path, offset, length: bytes.length };
        const before = lines.get(line.custom_id);
        if (before === undefined) lines.set(line.custom_id, [found]);
        else before.push(found);
      }
    }
  }
  return {
    /** The ids of requests that have a result, including failures. */
    ids: new Set(lines.keys()),
    has: (id: string) => lines.has(id),
    /** What the lines that answer a request say, and their files. @throws UserError (66) if a file can no longer be read */
    of: (id: string) =>
      (lines.get(id) ?? []).flatMap((line) => {
        // The file may have changed since it was scanned.
        const result = readResult(parseLine(bytesAt(line)) ?? {});
        return result === undefined ? [] : [{ result, path: line.path }];
      }),
    /** What is odd about the files, one sentence each. `isKnown` says whether there is a request with that id. */
    notes(isKnown: (id: string) => boolean): string[] {
      const all = [...lines];
      const strangers = all.flatMap(([id, places]) => (isKnown(id) ? [] : places.map(() => shownName(id))));
      const notes = {
        [`cut off, so the last line is skipped, and read again once the file has grown: ${firstOf(cutOff)}`]:
          cutOff.length,
        [`ignored, since their ids are unknown here: ${counted(strangers.length, 'result')} (${firstOf(strangers)})`]:
          strangers.length,
        [`ignored, since they are not results: ${counted(odd.length, 'line')} (${firstOf(odd)})`]: odd.length,
      };
      return Object.entries(notes).flatMap(([note, count]) => (count === 0 ? [] : note));
    },
  };
}

const shownName = (name: string) => oneLine(name, MOST_NAME_COLUMNS);

function firstOf(names: readonly string[]): string {
  return `${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', ...' : ''}`;
}
