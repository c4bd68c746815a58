// What was fetched into a folder: kept beside the files, so that they can be checked without the hub.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { codeOf } from '../../core/errors.js';
import { parseJson } from '../../core/json.js';

export const SHA256 = /^[0-9a-f]{64}$/;
/** A commit or a blob in git. */
export const GIT_OID = /^[0-9a-f]{40}$/;

/** Whether a path stays below the folder in which it is put, on any system. */
export function isSafe(path: string): boolean {
  return path.split('/').every((part) => /^[^\\:\0]+$/.test(part) && part !== '.' && part !== '..');
}

/** Whether a file's rows are part of the benchmark; the others only tell of it. */
export function holdsRows({ name }: Pick<SourceFile, 'name'>): boolean {
  return /_test\.jsonl$/.test(name);
}

/** The name of the record in its folder. */
export const SOURCE_RECORD = 'awb-source.json';
const SCHEMA = 'awb.data-source/1';

/** A file of a dataset. Its names become parts of paths and addresses, and the record may have been edited. */
const FILE = z.object({
  /** In the folder. */
  name: z.string().refine((name) => isSafe(name) && !name.includes('/')),
  /** In the repository. */
  path: z.string().refine(isSafe),
  bytes: z.int().min(0),
  sha256: z.string().regex(SHA256).optional(),
  /** SHA-1 of `blob`, the length and the content, as git names it. Says nothing more where there is a SHA-256. */
  gitOid: z.string().regex(GIT_OID).optional(),
});
export type SourceFile = Readonly<z.output<typeof FILE>>;

const RECORD = z.object({
  schema: z.literal(SCHEMA),
  /** The hub's address. */
  hub: z.string(),
  repository: z.string(),
  /** As it was named, such as main. */
  revision: z.string(),
  commit: z.string().regex(GIT_OID),
  /** False while files come; the list then also has those of an earlier commit, which may still stand there. */
  complete: z.boolean(),
  files: z.array(FILE).readonly(),
});
export type SourceRecord = Readonly<z.output<typeof RECORD>>;

/** The record in a folder; undefined where there is none, or `damaged` where it cannot be understood. */
export async function readSourceRecord(folder: string): Promise<SourceRecord | 'damaged' | undefined> {
  try {
    return RECORD.safeParse(parseJson(await readFile(join(folder, SOURCE_RECORD), 'utf8'))).data ?? 'damaged';
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '') ? undefined : 'damaged';
  }
}

/** The record as the file holds it. */
export function sourceRecordText(record: Omit<SourceRecord, 'schema'>): string {
  return `${JSON.stringify({ schema: SCHEMA, ...record }, null, 2)}\n`;
}
