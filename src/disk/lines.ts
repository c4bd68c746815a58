// Bytes into lines, split on byte 0x0A alone: strings of the benchmark hold U+2028 and its kind, at which other splitters cut.

export interface Line {
  /** The line's bytes without its line end; a carriage return before the line feed is dropped. */
  readonly bytes: Uint8Array;
  /** Offset of the line's first byte in the stream. */
  readonly offset: number;
  /** 1-based line number, blank lines counted. */
  readonly number: number;
  /** False for a last line without a line feed behind it. */
  readonly ended: boolean;
  /** True for a line longer than the longest that is kept: it has no bytes here. */
  readonly tooLong: boolean;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** A row has some megabytes at most; data with longer lines than this has none. */
export const LONGEST_LINE_BYTES = 1 << 27;

/**
 * Yields the lines of a stream of chunks, without blank ones. A line's bytes are valid until the next line is asked for, since their
 * buffers are used again. Memory: one chunk and the longest line, and no line is kept beyond `longest` bytes.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  longest = LONGEST_LINE_BYTES,
): AsyncGenerator<Line> {
  // The start of a line whose end is not there yet lies in the first `carried` bytes: readers may reuse their chunks.
  let carry = new Uint8Array(0);
  let carried = 0;
  // Bytes of that line that were too many to be kept.
  let dropped = 0;
  let offset = 0;
  let number = 0;
  const carryOn = (part: Uint8Array) => {
    if (dropped > 0 || carried + part.length > longest) {
      dropped += carried + part.length;
      carry = new Uint8Array(0);
      carried = 0;
      return;
    }
    carry = withRoom(carry, carried, carried + part.length);
    carry.set(part, carried);
    carried += part.length;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const part = chunk.subarray(start, end);
      const isCarried = carried > 0 || dropped > 0 || part.length > longest;
      if (isCarried) carryOn(part);
      const whole = isCarried ? carry.subarray(0, carried) : part;
      const line = lineOf(whole, offset, ++number, true, dropped > 0);
      if (line !== undefined) yield line;
      offset += whole.length + dropped + 1;
      carried = 0;
      dropped = 0;
      start = end + 1;
    }
    if (start < chunk.length) carryOn(chunk.subarray(start));
  }
  if (carried > 0 || dropped > 0) {
    const line = lineOf(carry.subarray(0, carried), offset, number + 1, false, dropped > 0);
    if (line !== undefined) yield line;
  }
}

function lineOf(whole: Uint8Array, offset: number, number: number, ended: boolean, tooLong: boolean): Line | undefined {
  const bytes = whole[whole.length - 1] === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
  return isBlank(bytes) && !tooLong ? undefined : { bytes, offset, number, ended, tooLong };
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) {
    if (byte !== 0x20 && byte !== 0x09 && byte !== CARRIAGE_RETURN) return false;
  }
  return true;
}

/** The same bytes with room for more. The room doubles, so that a line of many chunks is not copied once for each. */
function withRoom(bytes: Uint8Array<ArrayBuffer>, used: number, needed: number): Uint8Array<ArrayBuffer> {
  if (needed <= bytes.length) return bytes;
  const larger = new Uint8Array(Math.max(needed, bytes.length * 2));
  larger.set(bytes.subarray(0, used));
  return larger;
}
