// Bytes into lines, split on byte 0x0A alone: strings of the benchmark hold U+2028 and its kind, which other splitters cut at.

export interface Line {
  /** The line's bytes without its line end; a carriage return before the line feed is dropped. */
  readonly bytes: Uint8Array;
  /** Offset of the line's first byte in the stream. */
  readonly offset: number;
  /** 1-based line number, blank lines counted. */
  readonly number: number;
  /** False for a last line without a line feed behind it. */
  readonly ended: boolean;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Yields the lines of a stream of chunks, blank ones left out. Memory: one chunk and one line. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let pending: Uint8Array[] = [];
  let pendingLength = 0;
  let offset = 0;
  let number = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const whole = pendingLength === 0 ? chunk.subarray(start, end) : join(pending, chunk.subarray(start, end));
      const line = lineOf(whole, offset, ++number, true);
      if (line !== undefined) yield line;
      offset += whole.length + 1;
      pending = [];
      pendingLength = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      // A copy: readers reuse their chunk buffers.
      pending.push(chunk.slice(start));
      pendingLength += chunk.length - start;
    }
  }
  if (pendingLength > 0) {
    const line = lineOf(join(pending, new Uint8Array(0)), offset, number + 1, false);
    if (line !== undefined) yield line;
  }
}

function lineOf(whole: Uint8Array, offset: number, number: number, ended: boolean): Line | undefined {
  const bytes = whole[whole.length - 1] === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
  return isBlank(bytes) ? undefined : { bytes, offset, number, ended };
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) {
    if (byte !== 0x20 && byte !== 0x09 && byte !== CARRIAGE_RETURN) return false;
  }
  return true;
}

function join(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, last.length));
  let at = 0;
  for (const part of [...parts, last]) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
