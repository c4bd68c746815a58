// Lines of a part whose requests nobody waits for any more, as batch.json names them: "1-200,305".

/** The lines of a file, counted from 1, that are named. */
interface VoidLines {
  readonly count: number;
  has(line: number): boolean;
}

const COMMA = 0x2c;
const DASH = 0x2d;
const ZERO = 0x30;
/** No room is made for what no file has. */
const LONG_NUMBER = /\d{9}/;
const SIGNS = /^[\d,-]+$/;

/** How many lines both name. */
export function countInBoth(one: VoidLines, other: VoidLines, lines: number): number {
  let count = 0;
  for (let line = 1; line <= lines; line++) if (one.has(line) && other.has(line)) count++;
  return count;
}

/** One byte for each line up to the last that is named. */
export function voidLines({ void: text = '' }: { readonly void?: string }): VoidLines {
  let last = 0;
  eachRange(text, (_, to) => {
    last = Math.max(last, to);
  });
  const isNamed = new Uint8Array(last + 1);
  let count = 0;
  eachRange(text, (from, to) => {
    isNamed.fill(1, from, to + 1);
    count += 1 + to - from;
  });
  return { count, has: (line) => isNamed[line] === 1 };
}

/** Undefined where there is no such line among that many. */
export function linesText(lines: number, isNamed: (line: number) => boolean): string | undefined {
  const ranges: string[] = [];
  let from = 0;
  for (let line = 1; line <= lines + 1; line++) {
    const isIn = line <= lines && isNamed(line);
    if (isIn && from === 0) from = line;
    if (isIn || from === 0) continue;
    ranges.push(from === line - 1 ? `${from}` : `${from}-${line - 1}`);
    from = 0;
  }
  return ranges.length === 0 ? undefined : ranges.join(',');
}

/** Whether it names lines as `linesText` does, and none beyond that many. */
export function areLines(value: unknown, lines: number): value is string {
  if (typeof value !== 'string' || !SIGNS.test(value) || LONG_NUMBER.test(value)) return false;
  return linesText(lines, voidLines({ void: value }).has) === value;
}

/** Number by number: half of a file's lines, each apart, are read within a moment. */
function eachRange(text: string, take: (from: number, to: number) => void): void {
  let from = 0;
  let number = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at === text.length ? COMMA : text.charCodeAt(at);
    if (code !== COMMA && code !== DASH) {
      number = number * 10 + code - ZERO;
      continue;
    }
    if (code === COMMA && number > 0) take(from === 0 ? number : from, number);
    from = code === DASH ? number : 0;
    number = 0;
  }
}
