// A record of the journal: its parts, and its line, whose checksum shows damage.

import { crc32 } from 'node:zlib';
import { isObject, parseObject } from '../core/json.js';

/** One finished row. A later record with the same id replaces an earlier one. */
export interface JournalRecord {
  readonly id: string;
  /** What goes into the output row: members that are added to the input row's own. */
  readonly row: Readonly<Record<string, unknown>>;
  /** What it cost: attempts, tokens, times. Never part of the output row. */
  readonly log: Readonly<Record<string, unknown>>;
}

/** A record as its line: JSON with the CRC-32 of what stands before it as its last member, in eight hex digits. */
export function sealed({ id, row, log }: JournalRecord): Buffer {
  const members = JSON.stringify({ id, row, log }).slice(0, -1);
  return Buffer.from(`${members}${sealOf(members)}\n`);
}

function sealOf(members: string): string {
  return `,"crc":"${crc32(members).toString(16).padStart(8, '0')}"}`;
}

const SEAL_LENGTH = ',"crc":"00000000"}'.length;

/** The record of a line; undefined for anything that `sealed` did not write. */
export function readRecord(bytes: Uint8Array): JournalRecord | undefined {
  const line = textOf(bytes);
  const members = line.slice(0, -SEAL_LENGTH);
  return line === `${members}${sealOf(members)}` ? recordIn(`${members}}`) : undefined;
}

/** Whether a line is a whole record without a checksum, as earlier commits wrote them. */
export function isUnsealed(bytes: Uint8Array): boolean {
  return recordIn(textOf(bytes)) !== undefined;
}

/** A torn line of spaces may stand before the record. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().trimStart();
}

function recordIn(json: string): JournalRecord | undefined {
  const { id, row, log, ...others } = parseObject(json) ?? {};
  if (typeof id !== 'string' || !isObject(row) || !isObject(log) || Object.keys(others).length > 0) return undefined;
  return { id, row, log };
}
