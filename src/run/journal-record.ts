// A record of the journal: its parts, and its line, whose checksum shows damage.

import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { isObject, parseObject } from '../json.js';

/** One finished row. A later record with the same id replaces an earlier one. */
export interface JournalRecord {
  readonly id: string;
  /** What goes into the output row: members that are added to the input row's own. */
  readonly row: Readonly<Record<string, unknown>>;
  /** What it cost: attempts, tokens, times. Never part of the output row. */
  readonly log: Readonly<Record<string, unknown>>;
}

/** Behind a record's own members: the CRC-32 of the line's bytes before it, in eight hex digits. */
const SEAL = /^,"crc":"(?<checksum>[0-9a-f]{8})"\}$/;
const SEAL_BYTES = ',"crc":"00000000"}'.length;
const OWN_MEMBERS = 3;
const SPACE = 0x20;
const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;

/** A record as its line: JSON with a checksum as its last member, which is written over eight zeros: records can be long. */
export function sealed({ id, row, log }: JournalRecord): Buffer {
  const line = Buffer.from(`${JSON.stringify({ id, row, log, crc: '00000000' })}\n`);
  line.write(checksumOf(line.subarray(0, -1)), line.length - '00000000"}\n'.length, 'latin1');
  return line;
}

/** Of the bytes of a line before its seal. */
function checksumOf(line: Buffer): string {
  return crc32(line.subarray(0, -SEAL_BYTES)).toString(16).padStart(8, '0');
}

/** The record of a line; undefined where it is none, or not what was written. Lines of earlier versions have no checksum. */
export function readRecord(bytes: Uint8Array): JournalRecord | undefined {
  // A torn line of spaces may stand before it.
  const start = bytes.findIndex((byte) => byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN);
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(Math.max(0, start));
  const seal = SEAL.exec(line.toString('latin1', Math.max(0, line.length - SEAL_BYTES)));
  const { checksum } = seal?.groups ?? {};
  if (checksum !== undefined && checksum !== checksumOf(line)) return undefined;
  if (!isUtf8(line)) return undefined;
  const value = parseObject(line.toString('utf8'));
  if (value === undefined) return undefined;
  const { id, row, log } = value;
  // With more members than its own, it had a checksum that is damaged itself.
  const isWhole = checksum !== undefined || Object.keys(value).length === OWN_MEMBERS;
  return isWhole && typeof id === 'string' && isObject(row) && isObject(log) ? { id, row, log } : undefined;
}
