// Splits bytes into lines, only at byte 0x0A: strings of the benchmark contain U+2028 and similar characters, at which other splitters cut.

export interface Line {
  /** The line's bytes without its line end; a carriage return before the line feed is dropped. */
  readonly bytes: Uint8Array;
  /** Offset of the line's first byte in the stream. */
  readonly offset: number;
  /** 1-based line number, counting blank lines. */
  readonly number: number;
  /** False for a last line without a trailing line feed. */
  readonly ended: boolean;
  /** True for a line longer than the maximum that is kept: it has no bytes here. */
  readonly tooLong: boolean;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const NONE = new Uint8Array(0);
/** A row has a few megabytes at most; data with longer lines than this is not rows. */
export const LONGEST_LINE_BYTES = 1 << 27;

/**
 * Yields the lines of a stream of chunks, without blank ones. A line's bytes are valid until the next line is requested, since their
 * buffers are reused. Memory: one chunk and the longest line, and no line is kept beyond `longest` bytes.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  longest = LONGEST_LINE_BYTES,
): AsyncGenerator<Line> {
  /** Copies of the pieces of an unfinished line (none once there are too many), and their bytes. */
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  let offset = 0;
  let number = 0;
  /** The line that ends with this piece; undefined for a blank one. */
  const lineWith = (last: Uint8Array, ended: boolean): Line | undefined => {
    const length = begunBytes + last.length;
    const tooLong = length > longest;
    const whole = begunBytes === 0 ? last : Buffer.concat([...begun, last]);
    const isReturned = whole.at(-1) === CARRIAGE_RETURN;
    const bytes = tooLong ? NONE : isReturned ? whole.subarray(0, -1) : whole;
    const line = { bytes, offset, number: ++number, ended, tooLong };
    offset += length + 1;
    begun = [];
    begunBytes = 0;
    return isBlank(bytes) && !tooLong ? undefined : line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const line = lineWith(chunk.subarray(start, end), true);
      if (line !== undefined) yield line;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    begunBytes += chunk.length - start;
    if (begunBytes > longest) begun = [];
    else begun.push(Uint8Array.from(chunk.subarray(start)));
  }
  const line = begunBytes > 0 ? lineWith(NONE, false) : undefined;
  if (line !== undefined) yield line;
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) {
    if (byte !== 0x20 && byte !== 0x09 && byte !== CARRIAGE_RETURN) return false;
  }
  return true;
}
