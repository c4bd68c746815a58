// submission.json of a batch folder: what was sent where, and what came of it, as it is told to whoever goes on later.

import { isInteger, isObject, type JsonObject } from '../../json.js';
import { MOST_REQUESTS } from './folder.js';
import type { BatchCounts, BatchProblem, ServedBatch } from './served-batch.js';
import { areLines } from './void-lines.js';

const SCHEMA = 'awb.batch-submission/1';

/** A file of results that lies in the folder. */
interface FetchedFile {
  readonly file: string;
  readonly bytes: number;
}

/** A part, or what was left of it, as it was sent once. */
export interface Sent {
  /** The file of requests. */
  readonly part: string;
  /** Host and port that it was sent to. */
  readonly host: string;
  readonly requests: number;
  readonly bytes: number;
  /** The lines of the part whose requests were void then, as batch.json names them; absent for none. */
  readonly void?: string;
  /** The name that the server keeps the file under, which no other upload has. */
  readonly fileName: string;
  readonly inputFileId?: string;
  /** Stands in the batch's metadata, so that a batch is found again of which no answer came. */
  readonly key?: string;
  /** The batch may have been made under that key, and nobody has heard of it yet. */
  readonly isOpen?: true;
  /** Refused since too many tokens waited already: behind how many batches of this folder, one of which has to end first. */
  readonly waitsBehind?: number;
  readonly batchId?: string;
  readonly status?: string;
  readonly isEnded?: true;
  /** Seconds since 1970. */
  readonly createdAt?: number;
  readonly expiresAt?: number;
  readonly counts?: BatchCounts;
  readonly problems?: readonly BatchProblem[];
  readonly outputFileId?: string;
  readonly errorFileId?: string;
  readonly outputs?: FetchedFile;
  readonly errors?: FetchedFile;
  /** Files of results that the server has no more. */
  readonly lost?: readonly string[];
}

export interface Submission {
  /** Without credentials. */
  readonly baseUrl: string;
  readonly sent: readonly Sent[];
}

/** What is known of a batch, with what the server says of it now. */
export function withServed(sent: Sent, served: ServedBatch): Sent {
  const { isOpen: _, waitsBehind: __, ...rest } = sent;
  const { id, status, isEnded, createdAt, expiresAt, counts, problems, outputFileId, errorFileId } = served;
  return {
    ...rest,
    batchId: id,
    status,
    ...(isEnded && { isEnded }),
    ...(createdAt !== undefined && { createdAt }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(counts !== undefined && { counts }),
    ...(problems.length > 0 && { problems }),
    ...(outputFileId !== undefined && { outputFileId }),
    ...(errorFileId !== undefined && { errorFileId }),
  };
}

/** Whether the server still works on it. */
export function isLive({ batchId, isEnded }: Sent): boolean {
  return batchId !== undefined && !isEnded;
}

/** The files of results that the server has and that are not here yet; none while it is at work. */
export function resultsToFetch({ isEnded, outputFileId, errorFileId, outputs, errors, lost = [] }: Sent) {
  if (!isEnded) return [];
  const files = [
    { kind: 'outputs', id: outputFileId, fetched: outputs },
    { kind: 'errors', id: errorFileId, fetched: errors },
  ] as const;
  return files.flatMap(({ kind, id, fetched }) =>
    id === undefined || fetched !== undefined || lost.includes(id) ? [] : [{ kind, id }],
  );
}

export function submissionText(submission: Submission): string {
  return `${JSON.stringify({ schema: SCHEMA, ...submission }, null, 2)}\n`;
}

/** Undefined for what was not written as a submission. */
export function submissionIn(value: JsonObject | undefined): Submission | undefined {
  const { schema, baseUrl, sent } = value ?? {};
  if (schema !== SCHEMA || typeof baseUrl !== 'string' || !Array.isArray(sent) || !sent.every(isSent)) return undefined;
  return { baseUrl, sent };
}

const isText = (value: unknown) => typeof value === 'string';
const OPTIONAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  void: (value) => areLines(value, MOST_REQUESTS),
  inputFileId: isText,
  key: isText,
  waitsBehind: isInteger,
  batchId: isText,
  status: isText,
  outputFileId: isText,
  errorFileId: isText,
  createdAt: Number.isFinite,
  expiresAt: Number.isFinite,
  counts: isObject,
  problems: Array.isArray,
  outputs: isFetched,
  errors: isFetched,
  lost: Array.isArray,
};

function isSent(value: unknown): value is Sent {
  if (!isObject(value) || ![value.part, value.host, value.fileName].every(isText)) return false;
  if (!isInteger(value.requests) || !isInteger(value.bytes)) return false;
  return Object.entries(OPTIONAL).every(([name, check]) => value[name] === undefined || check(value[name]));
}

function isFetched(value: unknown): boolean {
  return isObject(value) && isText(value.file) && isInteger(value.bytes);
}
