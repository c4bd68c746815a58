// What was fetched into a folder: kept beside the files, so that they can be checked without the hub.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.js';
import { asObject, isInteger, isObject, parseObject } from '../json.js';
import { SHA256 } from './client.js';
import { GIT_OID, isSafe, type Stated } from './repository.js';

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
  readonly replacing?: readonly SourceFile[];
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
  return { hub, repository, revision, commit, complete, files: read, ...(old !== undefined && { replacing: old }) };
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
  return {
    name,
    path,
    bytes,
    ...(typeof sha256 === 'string' && SHA256.test(sha256) && { sha256 }),
    ...(typeof gitOid === 'string' && GIT_OID.test(gitOid) && { gitOid }),
  };
}
