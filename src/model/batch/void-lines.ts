// Lines of a part whose requests nobody waits for any more, as batch.json names them: "1-200,305".

/** The lines of a file, counted from 1, that are named. */
interface VoidLines {
  readonly count: number;
  has(line: number): boolean;
}

const RANGE = /^([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?$/;

/** One byte for each line up to the last that is named. */
export function voidLines({ void: text }: { readonly void?: string }): VoidLines {
  if (text === undefined) return { count: 0, has: () => false };
  const ranges = rangesIn(text);
  const isNamed = new Uint8Array(1 + Math.max(0, ...ranges.slice(-1).map(([, to]) => to)));
  for (const [from, to] of ranges) isNamed.fill(1, from, to + 1);
  const count = ranges.reduce((sum, [from, to]) => sum + 1 + to - from, 0);
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

/** Whether it names lines in their order, each once, and none beyond that many. */
export function areLines(value: unknown, lines: number): value is string {
  if (typeof value !== 'string' || !value.split(',').every((range) => RANGE.test(range))) return false;
  const ends = rangesIn(value).flat();
  // Between two ranges lies a line; a range may be of one.
  const isRising = ends.every(
    (end, at) => at === 0 || (at % 2 === 1 ? end >= Number(ends[at - 1]) : end > Number(ends[at - 1]) + 1),
  );
  return isRising && Number(ends.at(-1)) <= lines;
}

function rangesIn(text: string): [number, number][] {
  return text.split(',').map((range) => {
    const [, from, to = from] = RANGE.exec(range) ?? [];
    return [Number(from), Number(to)];
  });
}
