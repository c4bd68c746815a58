// The index of a dataset as the bytes of a file, and back: a header of JSON, the columns as they lie in memory, and a checksum.

import { endianness } from 'node:os';
import { crc32 } from 'node:zlib';
import { canonicalJson, parseObject } from '../json.js';
import { keysOf } from '../keys.js';
import { present } from '../present.js';
import type { RowColumns } from './row-columns.js';
import { READER } from './sample.js';

/** A line that is not a usable row. */
export interface BadRow {
  /** The name of its file. */
  readonly file: string;
  readonly line: number;
  readonly reason: string;
  /** Where at least that could be read. */
  readonly domain?: string;
}

/** What is known of a dataset without its texts. */
export interface IndexedData {
  readonly columns: RowColumns;
  readonly bad: readonly BadRow[];
  /** SHA-256 hex over the keys of all rows in order. */
  readonly fingerprint: string;
}

/** Changes with the layout of the bytes. What is read in a line has a version of its own. */
const FORMAT = `awb.data-index/1 ${endianness()}, reader ${READER}`;
/** Columns start at such offsets: their entries have up to 8 bytes. */
const ALIGNMENT = 8;
const CHECKSUM_BYTES = 4;

const COLUMN_TYPES = {
  offset: Float64Array,
  length: Uint32Array,
  line: Uint32Array,
  turnIdx: Uint32Array,
  checksum: Uint32Array,
  domain: Uint32Array,
  trajectory: Uint32Array,
  key: Uint32Array,
  idEnd: Uint32Array,
  ids: Uint8Array,
  trajectoryKey: Uint32Array,
} as const;
type ColumnName = keyof typeof COLUMN_TYPES;
type Columns = Pick<RowColumns, ColumnName>;

/** What stands before the columns. */
interface Header extends Pick<IndexedData, 'bad' | 'fingerprint'>, Pick<RowColumns, 'domainNames' | 'fileEnd'> {
  readonly format: string;
  readonly files: readonly string[];
  /** Entries of each column. */
  readonly counts: Readonly<Record<ColumnName, number>>;
}

/** @param files what tells the state of the files that were indexed */
export function encodeIndex({ columns, bad, fingerprint }: IndexedData, files: readonly string[]): Uint8Array {
  const { domainNames, fileEnd } = columns;
  const names = keysOf(COLUMN_TYPES);
  const counts = Object.fromEntries(names.map((name) => [name, columns[name].length]));
  const header = { format: FORMAT, files, fingerprint, bad, domainNames, fileEnd, counts };
  const parts = [Buffer.from(`${JSON.stringify(header)}\n`)];
  let length = present(parts[0]).length;
  for (const name of names) {
    const { buffer, byteOffset, byteLength } = columns[name];
    parts.push(Buffer.alloc(aligned(length) - length), Buffer.from(buffer, byteOffset, byteLength));
    length = aligned(length) + byteLength;
  }
  const content = Buffer.concat(parts);
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32LE(crc32(content));
  return Buffer.concat([content, checksum]);
}

/** The index in these bytes; undefined where they are damaged, of another version, or of files in another state. */
export function decodeIndex(bytes: Uint8Array, files: readonly string[]): IndexedData | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (file.length < CHECKSUM_BYTES) return undefined;
  const content = file.subarray(0, -CHECKSUM_BYTES);
  if (file.readUInt32LE(content.length) !== crc32(content)) return undefined;
  const start = content.indexOf('\n') + 1;
  const found = parseObject(content.toString('utf8', 0, start));
  if (found?.format !== FORMAT || canonicalJson(found.files) !== canonicalJson(files)) return undefined;
  // The checksum says that these are the bytes that were written, and the format that they are such a header.
  const { counts, domainNames, fileEnd, bad, fingerprint } = found as unknown as Header;
  return { columns: { ...columnsIn(content, start, counts), domainNames, fileEnd }, bad, fingerprint };
}

function columnsIn(content: Buffer, start: number, counts: Header['counts']): Columns {
  let at = start;
  const columns = keysOf(COLUMN_TYPES).map((name) => {
    const type = COLUMN_TYPES[name];
    const from = aligned(at);
    at = from + counts[name] * type.BYTES_PER_ELEMENT;
    // In memory of its own, where its entries lie as a typed array has to have them.
    return [name, new type(new Uint8Array(content.subarray(from, at)).buffer)];
  });
  // Each name of the table has a column of the table's type.
  return Object.fromEntries(columns) as Columns;
}

function aligned(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT;
}
