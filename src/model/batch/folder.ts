// A batch folder on the disk: which files lie in it and under which names, and batch.json, which says what was written for whom.

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import { parseObject } from '../../core/json.js';
import { replaceFile } from '../../disk/files.js';

/** What a file of requests holds at most, as OpenAI's batch API takes it. */
export const MOST_REQUESTS = 50_000;
export const MOST_BYTES = 190_000_000;

const SCHEMA = 'awb.batch/2';
const BATCH_FILE = 'batch.json';
const PART = /^requests-(\d{4,})\.jsonl$/;
/** What a killed writer of batch.json or of a file of requests leaves. */
const REMAINS = /^(?:batch\.json|requests-\d{4,}\.jsonl)\.(?:[0-9a-f]{12}\.)?tmp$/;
const REMEDY = 'every file before it is whole: make room or mend its rights, and run the same command again';

const count = z.int().nonnegative();
const PART_SCHEMA = z.object({
  // The name leads to no other folder.
  file: z.string().regex(PART),
  requests: count.max(MOST_REQUESTS),
  bytes: count,
  sha256: z.string(),
});
const BATCH_SCHEMA = z
  .object({
    schema: z.literal(SCHEMA),
    /** Whose requests these are; the folder is absolute. */
    run: z.object({
      kind: z.string(),
      dir: z.string(),
      fingerprint: z.string(),
      identity: z.record(z.string(), z.unknown()),
    }),
    model: z.string(),
    /** Where the requests go. */
    url: z.enum(['/v1/chat/completions', '/v1/completions']),
    /** Where the parameters were tried out, without credentials; absent where they were assumed. */
    baseUrl: z.string().optional(),
    /** Parameters that are left out, since they were rejected. */
    dropped: z.array(z.string()).readonly(),
    /** The reply's bound is sent as `max_completion_tokens`. */
    isRenamed: z.literal(true).optional(),
    /** What wrote the folder: the words behind the program's name, and the folder in which they were typed. */
    command: z.object({ cwd: z.string(), words: z.array(z.string()).readonly() }).optional(),
    /** In the order in which they were written. A file of requests that is not among them is a torn leftover. */
    parts: z.array(PART_SCHEMA).readonly(),
  })
  .transform(({ schema: _, ...batch }) => batch);

/** What batch.json says. */
export type Batch = z.infer<typeof BATCH_SCHEMA>;
/** A file of requests that was written to its end. */
export type BatchPart = z.infer<typeof PART_SCHEMA>;

/** The name of a file of requests, by its number from 1. */
export function partName(number: number): string {
  return `requests-${String(number).padStart(4, '0')}.jsonl`;
}

/** What batch.json says; undefined where there is none. @throws UserError: 66 where it cannot be read, 65 where it is damaged */
export async function readBatch(dir: string): Promise<Batch | undefined> {
  const path = join(dir, BATCH_FILE);
  return readDocument(
    path,
    BATCH_SCHEMA,
    `${path} is damaged, or of another version of awb; restore it, or take another folder`,
  );
}

/**
 * What a JSON file of the folder says; undefined where there is none. `damaged` is the message for one of another form.
 * @throws UserError: 66 where it cannot be read, 65 where it is damaged
 */
export async function readDocument<Form extends z.ZodType>(
  path: string,
  form: Form,
  damaged: string,
): Promise<z.infer<Form> | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unreadable(path, error);
  });
  if (text === undefined) return undefined;
  const read = form.safeParse(parseObject(text));
  if (read.success) return read.data;
  throw new UserError(damaged, EXIT.badData);
}

/** Puts batch.json in the place of the one before, whole. @throws UserError (74) where the disk refuses */
export async function writeBatch(dir: string, batch: Batch): Promise<void> {
  const text = `${JSON.stringify({ schema: SCHEMA, ...batch }, null, 2)}\n`;
  await replaceFile(join(dir, BATCH_FILE), [text], { remedy: REMEDY });
}

/**
 * Writes requests, a line each with its end, into files of so many requests and bytes at most, from the next free number on. `list` is
 * given each file that is whole: what a kill leaves is not listed, and is written again.
 * @throws UserError (74) where the disk refuses, and what `lines` throws
 */
export async function writeParts(
  dir: string,
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
    // What lies under that name is not listed: a torn leftover, or a link that somebody has laid there.
    await rm(join(dir, file), { force: true });
    const written = await replaceFile(join(dir, file), fill(), { remedy: REMEDY });
    await list({ file, requests, ...written });
  }
}

/** Takes away what killed runs have left half-written. Only for a run that has the folder to itself. */
export async function clearRemains(dir: string): Promise<void> {
  for (const name of await readdir(dir)) if (REMAINS.test(name)) await rm(join(dir, name), { force: true });
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
