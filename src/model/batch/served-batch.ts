// A batch and a file as a server describes them: what is known of them is read, and whatever else stands there is passed over.

import { asObject, isInteger, isObject, type JsonObject } from '../../json.js';
import { oneLine } from '../../printable.js';
import type { Redact } from '../../redaction.js';

export interface ServedFile {
  readonly id: string;
  readonly bytes?: number;
  readonly name?: string;
}

export interface BatchProblem {
  readonly code: string;
  readonly message: string;
  /** Of the input file. */
  readonly line?: number;
}

export interface BatchCounts {
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
}

export interface ServedBatch {
  readonly id: string;
  /** As the server says it; later versions may know more states. */
  readonly status: string;
  /** Whether nothing more comes of it. */
  readonly isEnded: boolean;
  /** Seconds since 1970. */
  readonly createdAt?: number;
  readonly expiresAt?: number;
  readonly inputFileId?: string;
  readonly outputFileId?: string;
  readonly errorFileId?: string;
  readonly counts?: BatchCounts;
  readonly problems: readonly BatchProblem[];
  readonly metadata: JsonObject;
}

/** The states in which a batch stays. */
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
/** What tells the end of a state that nobody knows here. */
const ENDS = ['completed_at', 'failed_at', 'expired_at', 'cancelled_at'];
/** An id becomes part of an address. Some gateways pack whole documents into theirs. */
const ID = /^[\x21-\x7e]{1,2048}$/;
const MOST_PROBLEMS = 20;

/** Undefined for what is no batch. */
export function readServedBatch(value: unknown, redact: Redact): ServedBatch | undefined {
  if (!isObject(value) || !isId(value.id) || typeof value.status !== 'string') return undefined;
  const status = oneLine(redact(value.status), 40);
  const { data } = asObject(value.errors);
  const counts = countsOf(value.request_counts);
  return {
    id: value.id,
    status,
    isEnded: ENDED.includes(status) || ENDS.some((name) => isTime(value[name])),
    ...(isTime(value.created_at) && { createdAt: value.created_at }),
    ...(isTime(value.expires_at) && { expiresAt: value.expires_at }),
    ...(isId(value.input_file_id) && { inputFileId: value.input_file_id }),
    ...(isId(value.output_file_id) && { outputFileId: value.output_file_id }),
    ...(isId(value.error_file_id) && { errorFileId: value.error_file_id }),
    ...(counts !== undefined && { counts }),
    problems: (Array.isArray(data) ? data : [])
      .slice(0, MOST_PROBLEMS)
      .map((each) => problemOf(asObject(each), redact)),
    metadata: asObject(value.metadata),
  };
}

/** Undefined for what is no file. */
export function readServedFile(value: unknown): ServedFile | undefined {
  if (!isObject(value) || !isId(value.id)) return undefined;
  return {
    id: value.id,
    ...(isInteger(value.bytes) && value.bytes >= 0 && { bytes: value.bytes }),
    ...(typeof value.filename === 'string' && { name: value.filename }),
  };
}

function problemOf({ code, message, line }: JsonObject, redact: Redact): BatchProblem {
  const text = (value: unknown, most: number) => oneLine(redact(typeof value === 'string' ? value : ''), most);
  return { code: text(code, 60), message: text(message, 300), ...(isInteger(line) && { line }) };
}

function countsOf(value: unknown): BatchCounts | undefined {
  const { total, completed, failed } = asObject(value);
  const isCount = (count: unknown): count is number => isInteger(count) && count >= 0;
  return isCount(total) && isCount(completed) && isCount(failed) ? { total, completed, failed } : undefined;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value);
}
