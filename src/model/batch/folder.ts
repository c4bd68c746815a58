// A batch folder on the disk: which files lie in it and under which names, and batch.json, which says what was written for whom.

import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, EXIT, UserError } from '../../errors.js';
import { openAnew, putInPlace } from '../../files.js';
import { isInteger, isObject, type JsonObject, parseObject } from '../../json.js';
import { areLines } from './void-lines.js';

/** What a file of requests holds at most, as OpenAI's batch API takes it. */
export const MOST_REQUESTS = 50_000;
export const MOST_BYTES = 190_000_000;

const SCHEMA = 'awb.batch/2';
const BATCH_FILE = 'batch.json';
const BEGINNING = /^batch\.json\.[0-9a-f]{12}\.tmp$/;
const PART = /^requests-\d{4,}\.jsonl$/;
const URLS = ['/v1/chat/completions', '/v1/completions'] as const;

/** Where the requests of a batch go. */
export type BatchUrl = (typeof URLS)[number];

/** A file of requests that was written to its end. */
export interface BatchPart {
  readonly file: string;
  readonly requests: number;
  readonly bytes: number;
  /** Of its bytes, in hex; folders of before have none. */
  readonly sha256?: string;
  /** The lines, as `void-lines.ts` reads them, whose requests the run did not wait for any more when it last looked; absent for none. */
  readonly void?: string;
}

/** Whose requests these are. */
export interface BatchRun {
  readonly kind: string;
  /** The run's folder, absolute. */
  readonly dir: string;
  readonly fingerprint: string;
  readonly identity: JsonObject;
}

/** What batch.json says. */
export interface Batch {
  readonly run: BatchRun;
  readonly model: string;
  readonly url: BatchUrl;
  /** Where the parameters were tried out, without credentials; absent where they were assumed. */
  readonly baseUrl?: string;
  /** Parameters that are left out, since they were rejected. */
  readonly dropped: readonly string[];
  /** The reply's bound is sent as `max_completion_tokens`. */
  readonly isRenamed?: true;
  /** What wrote the folder: the words behind the program's name, and the folder in which they were typed. */
  readonly command?: { readonly cwd: string; readonly words: readonly string[] };
  /** In the order in which they were written. A file of requests that is not among them is a torn leftover. */
  readonly parts: readonly BatchPart[];
}

/** The name of a file of requests, by its number from 1. */
export function partName(number: number): string {
  return `requests-${String(number).padStart(4, '0')}.jsonl`;
}

/**
 * Names of the files that may hold results, sorted: every `*.jsonl` that is no file of requests. None where there is no folder.
 * @throws UserError: 65 for one that is no file, such as a pipe, which would never end; 66 where the folder cannot be read
 */
export async function resultFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw unreadable(dir, error);
  });
  const files = names.filter((name) => name.endsWith('.jsonl') && !PART.test(name)).sort();
  for (const name of files) await requireFile(join(dir, name));
  return files;
}

async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => codeOf(error));
  if (typeof found === 'object' && found.isFile()) return;
  throw new UserError(
    `${path} is no file (${typeof found === 'object' ? 'a folder or a pipe' : found}), and results are read from every *.jsonl beside the requests: move it away`,
    EXIT.badData,
  );
}

/** What batch.json says; undefined where there is none. @throws UserError: 66 where it cannot be read, 65 where it is damaged */
export async function readBatch(dir: string): Promise<Batch | undefined> {
  const path = join(dir, BATCH_FILE);
  const text = await textIn(path);
  if (text === undefined) return undefined;
  const batch = batchIn(parseObject(text));
  if (batch !== undefined) return batch;
  throw new UserError(
    `${path} is damaged, or of another version of awb; restore it, or take another folder`,
    EXIT.badData,
  );
}

/** A file's text; undefined where there is none. @throws UserError (66) where it cannot be read */
export async function textIn(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unreadable(path, error);
  });
}

function batchIn(value: JsonObject | undefined): Batch | undefined {
  const { schema, run, model, url, baseUrl, dropped, isRenamed, command, parts } = value ?? {};
  const known = URLS.find((one) => one === url);
  const isWhole =
    schema === SCHEMA &&
    isObject(run) &&
    [run.kind, run.dir, run.fingerprint, model].every((text) => typeof text === 'string') &&
    isObject(run.identity) &&
    areTexts(dropped) &&
    Array.isArray(parts) &&
    parts.every(isPart);
  if (!isWhole || known === undefined) return undefined;
  return {
    // Each field has just been looked at.
    run: run as unknown as BatchRun,
    model: String(model),
    url: known,
    ...(typeof baseUrl === 'string' && { baseUrl }),
    dropped,
    ...(isRenamed === true && { isRenamed }),
    ...(isCommand(command) && { command }),
    parts,
  };
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

/** Folders of before have none. */
function isCommand(value: unknown): value is NonNullable<Batch['command']> {
  return isObject(value) && typeof value.cwd === 'string' && areTexts(value.words);
}

/** A part's name leads to no other folder. */
function isPart(value: unknown): value is BatchPart {
  return (
    isObject(value) &&
    typeof value.file === 'string' &&
    PART.test(value.file) &&
    isInteger(value.requests) &&
    value.requests <= MOST_REQUESTS &&
    isInteger(value.bytes) &&
    (value.sha256 === undefined || typeof value.sha256 === 'string') &&
    (value.void === undefined || areLines(value.void, value.requests))
  );
}

/**
 * Puts batch.json in the place of the one before, whole: a reader sees the old text or the new one.
 * @param isFirst whether there is none yet: of several runs that begin in one folder, one does
 * @throws UserError: 74, 73 where the disk refuses; 78 where another run has begun in the folder meanwhile
 */
export async function writeBatch(dir: string, batch: Batch, isFirst = false): Promise<void> {
  const path = join(dir, BATCH_FILE);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const handle = await openAnew(temporary);
    try {
      await handle.writeFile(`${JSON.stringify({ schema: SCHEMA, ...batch }, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (isFirst) await claim(path, temporary);
    await putInPlace(temporary, path);
    await clearBeginnings(dir);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw unwritable(path, error);
  }
}

/** Takes away what those leave that were killed, or came too late; a file that has got its second name keeps its first, too. */
async function clearBeginnings(dir: string): Promise<void> {
  const left = (await readdir(dir)).filter((name) => BEGINNING.test(name));
  for (const name of left) await rm(join(dir, name), { force: true });
}

/** Gives a file that name, which only one can have. @throws UserError (78) where another has it */
async function claim(path: string, temporary: string): Promise<void> {
  const code = await link(temporary, path).then(() => undefined, codeOf);
  // Whoever has begun takes the beginnings of others away.
  if (code !== 'EEXIST' && code !== 'ENOENT') return;
  throw new UserError(
    `another run has begun its batch in ${dirname(path)} meanwhile; give each run, and each part of one, a --batch-dir of its own`,
    EXIT.identityDiffers,
  );
}

/** What the disk refused while `path` was written, as a UserError; other errors come back as they are. */
export function unwritable(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof UserError || code === undefined) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new UserError(
      `no space is left for ${path}; every file before it is whole: make room and run the same command again`,
      EXIT.cannotWrite,
    );
  }
  const isRefused = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code);
  return new UserError(
    `cannot write ${path} (${code}); mend its rights, or take another folder`,
    isRefused ? EXIT.cannotCreate : EXIT.cannotWrite,
  );
}

/** What the disk refused while `path` was read, as a UserError (66); other errors come back as they are. */
export function unreadable(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof UserError || code === undefined) return error;
  return new UserError(`cannot read ${path} (${code}); mend its rights, or take another folder`, EXIT.inputMissing);
}
