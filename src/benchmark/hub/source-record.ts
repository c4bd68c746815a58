// What was fetched into a folder: kept beside the files, so that they can be checked without the hub.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../core/errors.js';
import { asObject, isInteger, isObject, parseObject } from '../../core/json.js';

/** What is stated of a content. Where it has a SHA-256, its name in git says nothing more. */
export interface Stated {
  readonly bytes: number;
  readonly sha256?: string | undefined;
  /** SHA-1 of `blob`, the length and the content, as git names it. */
  readonly gitOid?: string | undefined;
}

/** The hashes among what is stated, those that are in their form. */
export function hashesIn(sha256: unknown, gitOid: unknown): Pick<Stated, 'sha256' | 'gitOid'> {
  return {
    gitOid: typeof gitOid === 'string' && GIT_OID.test(gitOid) ? gitOid : undefined,
    sha256: typeof sha256 === 'string' && SHA256.test(sha256) ? sha256 : undefined,
  };
}

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

/** A file of a dataset. */
export interface SourceFile extends Stated {
  /** In the folder. */
  readonly name: string;
  /** In the repository. */
  readonly path: string;
}

export interface SourceRecord {
  /** The hub's address. */
  readonly hub: string;
  readonly repository: string;
  /** As it was named, such as main. */
  readonly revision: string;
  readonly commit: string;
  /** False while files come. */
  readonly complete: boolean;
  readonly files: readonly SourceFile[];
  /** While another commit's files take the place of these: those that may still stand there. */
  readonly replacing?: readonly SourceFile[] | undefined;
}

/** The record in a folder; undefined where there is none, or `damaged` where it cannot be understood. */
export async function readSourceRecord(folder: string): Promise<SourceRecord | 'damaged' | undefined> {
  const text = await readFile(join(folder, SOURCE_RECORD), 'utf8').catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    return '';
  });
  return text === undefined ? undefined : (recordIn(text) ?? 'damaged');
}

/** The record as the file holds it. */
export function sourceRecordText(record: SourceRecord): string {
  return `${JSON.stringify({ schema: SCHEMA, ...record }, null, 2)}\n`;
}

function recordIn(text: string): SourceRecord | undefined {
  const { schema, hub, repository, revision, commit, complete, files, replacing } = parseObject(text) ?? {};
  if (schema !== SCHEMA || typeof complete !== 'boolean') return undefined;
  if (typeof hub !== 'string' || typeof repository !== 'string' || typeof revision !== 'string') return undefined;
  if (typeof commit !== 'string' || !GIT_OID.test(commit)) return undefined;
  const read = filesIn(files);
  const old = replacing === undefined ? undefined : filesIn(replacing);
  if (read === undefined || (replacing !== undefined && old === undefined)) return undefined;
  return { hub, repository, revision, commit, complete, files: read, replacing: old };
}

/** Undefined where any of them is none: what is half understood is not relied on. */
function filesIn(list: unknown): SourceFile[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const files = list.flatMap((entry) => (isObject(entry) ? (fileIn(entry) ?? []) : []));
  return files.length === list.length ? files : undefined;
}

function fileIn(entry: object): SourceFile | undefined {
  const { name, path, bytes, sha256, gitOid } = asObject(entry);
  // Both become parts of paths and addresses, and the record may have been edited.
  if (typeof name !== 'string' || !isSafe(name) || name.includes('/')) return undefined;
  if (typeof path !== 'string' || !isSafe(path) || !isInteger(bytes) || bytes < 0) return undefined;
  return { name, path, bytes, ...hashesIn(sha256, gitOid) };
}
