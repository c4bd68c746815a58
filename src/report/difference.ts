// What differs between a ground truth and a prediction: line by line, and within changed lines word by word.

/** Changed parts of a line as offsets (UTF-16 units): start, end, start, end ... */
export type Ranges = readonly number[];

/**
 * A step through both texts, in order: `n` lines that are equal; `-` n lines of the truth alone; `+` n lines of the prediction
 * alone; `~` one line of each, with what changed in either.
 */
export type Step = number | readonly ['-' | '+', number] | readonly ['~', Ranges, Ranges];

/** Edits that the search goes through between two anchors before it takes all of it for changed. */
const MAX_EDITS = 400;
/** Words above which a line is not searched for words, and cells above which lines are paired in their order. */
const MAX_WORDS = 20_000;
const MAX_PAIRINGS = 10_000;
/** Lines that share less of their words than this are not one line changed. */
const LEAST_SHARED = 0.4;

/** Where a run of equal entries stands in either list. */
interface Run {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

/**
 * The steps that lead from the truth to the prediction, both split at line feeds. Lines that stand once in either text anchor
 * the search (patience diff, B. Cohen); between them the shortest edit is searched for (Myers, "An O(ND) Difference Algorithm
 * and Its Variations", Algorithmica 1, 1986), up to a bound, so that the time stays near linear for texts of any kind.
 */
export function difference(truth: string, prediction: string): Step[] {
  const a = truth.split('\n');
  const b = prediction.split('\n');
  const steps: Step[] = [];
  let atA = 0;
  let atB = 0;
  for (const run of [...equalRuns(a, b), { a: a.length, b: b.length, length: 0 }]) {
    steps.push(...changedLines(a.slice(atA, run.a), b.slice(atB, run.b)));
    if (run.length > 0) steps.push(run.length);
    atA = run.a + run.length;
    atB = run.b + run.length;
  }
  return steps;
}

/** Runs of equal entries, in order and apart from each other. */
function equalRuns(a: readonly string[], b: readonly string[]): Run[] {
  const [numbersA, numbersB] = numbered(a, b);
  const runs: Run[] = [];
  let atA = 0;
  let atB = 0;
  for (const [anchorA, anchorB] of [...anchors(numbersA, numbersB), [a.length, b.length] as const]) {
    if (anchorA < atA || anchorB < atB) continue;
    addRuns(runs, shortestEdit(numbersA.subarray(atA, anchorA), numbersB.subarray(atB, anchorB)), atA, atB);
    if (anchorA < a.length) addRuns(runs, [{ a: 0, b: 0, length: 1 }], anchorA, anchorB);
    atA = anchorA + 1;
    atB = anchorB + 1;
  }
  return runs;
}

/** Adds runs that count from an offset; one that touches the last one continues it. */
function addRuns(runs: Run[], more: readonly Run[], fromA: number, fromB: number): void {
  for (const { a, b, length } of more) {
    const last = runs.at(-1);
    const continues = last !== undefined && last.a + last.length === a + fromA && last.b + last.length === b + fromB;
    if (continues) runs[runs.length - 1] = { ...last, length: last.length + length };
    else runs.push({ a: a + fromA, b: b + fromB, length });
  }
}

/** Both lists as numbers, equal ones for equal texts. */
function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  return [Int32Array.from(a, numberOf), Int32Array.from(b, numberOf)];
}

/** Entries that stand once in either list, as index pairs: the longest series that rises in both. */
function anchors(a: Int32Array, b: Int32Array): (readonly [number, number])[] {
  const [onceA, onceB] = [placesOfSingles(a), placesOfSingles(b)];
  const pairs = [...onceA].flatMap(([value, at]) => {
    const other = onceB.get(value);
    return other === undefined ? [] : [{ a: at, b: other, before: -1 }];
  });
  // Patience sorting: `tops` holds, by length, the pair that ends a rising series of that length lowest in b.
  const tops: number[] = [];
  for (const [index, pair] of pairs.entries()) {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] as number] as { b: number }).b < pair.b) low = middle + 1;
      else high = middle;
    }
    pair.before = tops[low - 1] ?? -1;
    tops[low] = index;
  }
  const series: (readonly [number, number])[] = [];
  for (let pair = pairs[tops.at(-1) ?? -1]; pair !== undefined; pair = pairs[pair.before])
    series.push([pair.a, pair.b]);
  return series.reverse();
}

function placesOfSingles(values: Int32Array): Map<number, number> {
  const places = new Map<number, number>();
  const repeated = new Set<number>();
  for (const [index, value] of values.entries()) {
    if (places.has(value)) repeated.add(value);
    places.set(value, index);
  }
  for (const value of repeated) places.delete(value);
  return places;
}

/** The equal runs of a shortest edit from a to b; those at both ends alone where more than `MAX_EDITS` would be needed. */
function shortestEdit(a: Int32Array, b: Int32Array): Run[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = editMiddle(a.subarray(head, a.length - tail), b.subarray(head, b.length - tail));
  return [
    { a: 0, b: 0, length: head },
    ...middle.map((run) => ({ ...run, a: run.a + head, b: run.b + head })),
    { a: a.length - tail, b: b.length - tail, length: tail },
  ].filter((run) => run.length > 0);
}

function editMiddle(a: Int32Array, b: Int32Array): Run[] {
  const limit = Math.min(MAX_EDITS, a.length + b.length);
  if (a.length === 0 || b.length === 0) return [];
  // furthest[k + limit + 1]: how far in a the diagonal k = x - y has been followed; trail: a copy of it for each number of edits.
  const furthest = new Int32Array(2 * limit + 3);
  const at = (k: number) => k + limit + 1;
  const trail: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits++) {
    trail.push(furthest.slice(at(-edits) - 1, at(edits) + 2));
    for (let k = -edits; k <= edits; k += 2) {
      let x = startOf(furthest, at(k), k, edits);
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return followBack(trail, a.length, b.length);
    }
  }
  return [];
}

/** Where a diagonal is entered: from below (a line added) or from the left (a line removed), whichever leads further. */
function startOf(furthest: Int32Array, index: number, k: number, edits: number): number {
  return isFromBelow(furthest, index, k, edits) ? (furthest[index + 1] as number) : (furthest[index - 1] as number) + 1;
}

function isFromBelow(furthest: Int32Array, index: number, k: number, edits: number): boolean {
  return k === -edits || (k !== edits && (furthest[index - 1] as number) < (furthest[index + 1] as number));
}

function followBack(trail: readonly Int32Array[], lengthA: number, lengthB: number): Run[] {
  const runs: Run[] = [];
  let x = lengthA;
  let y = lengthB;
  for (let edits = trail.length - 1; edits >= 0; edits--) {
    const k = x - y;
    const furthest = trail[edits] as Int32Array;
    const start = edits === 0 ? 0 : startOf(furthest, k + edits + 1, k, edits);
    if (x > start) runs.push({ a: start, b: start - k, length: x - start });
    if (edits === 0) break;
    const fromBelow = isFromBelow(furthest, k + edits + 1, k, edits);
    x = fromBelow ? start : start - 1;
    y = fromBelow ? start - k - 1 : start - k;
  }
  return runs.reverse();
}

/** Steps through a block of lines of which none is equal in place: similar ones become changed lines. */
function changedLines(a: readonly string[], b: readonly string[]): Step[] {
  const steps: Step[] = [];
  let atA = 0;
  let atB = 0;
  const alone = (toA: number, toB: number) => {
    if (toA > atA) steps.push(['-', toA - atA]);
    if (toB > atB) steps.push(['+', toB - atB]);
  };
  for (const [pairA, pairB] of pairsOf(a.map(wordsOf), b.map(wordsOf))) {
    alone(pairA, pairB);
    steps.push(['~', ...changedWords(a[pairA] as string, b[pairB] as string)]);
    atA = pairA + 1;
    atB = pairB + 1;
  }
  alone(a.length, b.length);
  return steps;
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** Which lines of a are changed into which of b: in rising order, with the most words shared in all. */
function pairsOf(a: readonly string[][], b: readonly string[][]): (readonly [number, number])[] {
  if (a.length * b.length > MAX_PAIRINGS) {
    const length = Math.min(a.length, b.length);
    return Array.from({ length }, (_, i) => [i, i] as const).filter(([i]) => sharedWords(a[i], b[i]) >= LEAST_SHARED);
  }
  const width = b.length + 1;
  // best[i * width + j]: the most that lines from i of a and from j of b can share.
  const best = new Float64Array((a.length + 1) * width);
  const shared = new Float64Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const cell = i * width + j;
      const share = sharedWords(a[i], b[j]);
      shared[cell] = share >= LEAST_SHARED ? share : -1;
      const paired = (shared[cell] as number) + (best[cell + width + 1] as number);
      best[cell] = Math.max(best[cell + width] as number, best[cell + 1] as number, paired);
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const cell = i * width + j;
    const isPaired = best[cell] === (shared[cell] as number) + (best[cell + width + 1] as number);
    if (isPaired && (shared[cell] as number) >= 0) pairs.push([i++, j++]);
    else if (best[cell] === best[cell + width]) i++;
    else j++;
  }
  return pairs;
}

/** How much of two lines' words (white space apart) is shared: 0 to 1 (Dice). */
function sharedWords(a: readonly string[] = [], b: readonly string[] = []): number {
  const counts = new Map<string, number>();
  let total = 0;
  for (const word of a) {
    if (word.trim() === '') continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
    total++;
  }
  let shared = 0;
  for (const word of b) {
    if (word.trim() === '') continue;
    total++;
    const left = counts.get(word) ?? 0;
    if (left === 0) continue;
    counts.set(word, left - 1);
    shared++;
  }
  // Lines of white space alone differ in nothing else.
  return total === 0 ? 1 : (2 * shared) / total;
}

/** What changed between two lines: outside of the ranges both have the same text. */
function changedWords(a: string, b: string): [number[], number[]] {
  const [wordsA, wordsB] = [wordsOf(a), wordsOf(b)];
  if (wordsA.length + wordsB.length > MAX_WORDS) return [whole(a), whole(b)];
  const runs = shortestEdit(...numbered(wordsA, wordsB));
  const ranges: [number[], number[]] = [[], []];
  let [doneA, doneB, offsetA, offsetB] = [0, 0, 0, 0];
  let changedA = 0;
  let changedB = 0;
  const close = () => {
    if (offsetA > changedA) ranges[0].push(changedA, offsetA);
    if (offsetB > changedB) ranges[1].push(changedB, offsetB);
  };
  for (const [index, run] of runs.entries()) {
    offsetA += lengthOf(wordsA, doneA, run.a);
    offsetB += lengthOf(wordsB, doneB, run.b);
    const text = wordsA.slice(run.a, run.a + run.length).join('');
    [doneA, doneB] = [run.a + run.length, run.b + run.length];
    // A space between two changes is part of the change: words are read together.
    const joins = index > 0 && doneA < wordsA.length && doneB < wordsB.length && text.trim() === '';
    if (!joins) close();
    offsetA += text.length;
    offsetB += text.length;
    if (!joins) [changedA, changedB] = [offsetA, offsetB];
  }
  offsetA = a.length;
  offsetB = b.length;
  close();
  return ranges;
}

function lengthOf(words: readonly string[], from: number, to: number): number {
  let length = 0;
  for (let at = from; at < to; at++) length += (words[at] as string).length;
  return length;
}

function whole(line: string): number[] {
  return line === '' ? [] : [0, line.length];
}
