// What only a run can know: times, durations, process ids, hashes, temporary paths, sizes. Told by its pattern alone.

import type { Span } from '../json-spans.js';

export type RuntimeKind =
  | 'time'
  | 'date'
  | 'duration'
  | 'process'
  | 'hash'
  | 'uuid'
  | 'address'
  | 'temporary'
  | 'session'
  | 'size';

interface RuntimeToken extends Span {
  readonly kind: RuntimeKind;
}

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const CLOCK = String.raw`(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:[.,]\d{1,9})?`;

/** The first group, where there is one, is the token; a pattern further up takes a place before one further down. */
const PATTERNS: readonly (readonly [RuntimeKind, RegExp])[] = [
  ['uuid', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi],
  // A temporary name has a part that nobody chose: after tmp, or behind a dot or a dash with a digit or a capital letter in it.
  [
    'temporary',
    /\/(?:tmp|var\/tmp|var\/folders)\/(?:[\w.-]{1,99}\/){0,9}(?:tmp\w{4,99}|[\w-]{0,50}[.-](?=[a-z]{0,50}[0-9A-Z])\w{5,50}|pytest-of-\w{1,50}\/pytest-\d{1,9})(?:\/[\w.-]{1,99}){0,9}/g,
  ],
  ['address', /\b0x[0-9a-f]{6,16}\b/gi],
  [
    'date',
    new RegExp(
      String.raw`\b\d{4}-\d\d-\d\d(?=\b|T\d)|\b${MONTH} {1,2}\d{1,2}(?:, ?\d{4})?\b|\b\d{1,2} ${MONTH} \d{4}\b`,
      'g',
    ),
  ],
  [
    'time',
    new RegExp(
      String.raw`(?<![\w.:])${CLOCK}(?![\w:]|\.\d)|(?<=\d\dT)${CLOCK}(?![\w:]|\.\d)|(?<=T)${CLOCK}(?=Z|[+-]\d\d)`,
      'g',
    ),
  ],
  ['time', /(?<![\w.,-])1[5-9]\d{8}(?:\d{3}|\.\d{1,9})?(?![\w.,-]*\d)/g],
  [
    'duration',
    /(?<![\w.])(?:\d+m)?\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?|mins?|hours?)\b(?! ago)/g,
  ],
  ['duration', /(?:duration|elapsed|took|time)[\w-]{0,30}["']?[:= ] ?["']?(\d+\.\d+)/gi],
  ['process', /\b(?:pid|process(?: id)?|PID)["']?[:= #]{1,3}["']?(\d{2,7})\b/g],
  ['process', /^\[\d+\] (\d{3,7})$/gm],
  ['session', /(?:session|request|trace|correlation|transaction)[-_ ]?id["']?[:=]\s*["']?([\w-]{6,})/gi],
  // A hash is hexadecimal with digits and letters; so long a number is none.
  ['hash', /(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,128}(?![\w-])/g],
  ['hash', /^index ([0-9a-f]{7,40})\.\./gm],
  ['hash', /^index [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})/gm],
  ['hash', /(?<![\w-])sha\d{1,3}[-:=][\w+/=-]{20,}/gi],
  ['size', /(?<![\w.])\d[\d,]*(?:\.\d+)? ?(?:[kKMGT]i?B|[KMGT]|bytes?)\b/g],
  // The size of a file in a long listing.
  ['size', /^[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s/gm],
  ['size', /\b(?:file_?size|size|bytes|content-length)["']?[:=]\s*["']?(\d+)\b/gi],
];

/** The runtime tokens of a text in their order; none overlaps another. */
export function runtimeTokens(text: string): RuntimeToken[] {
  const found: RuntimeToken[] = [];
  for (const [kind, pattern] of PATTERNS) {
    for (const match of text.matchAll(pattern)) {
      const token = match[1] ?? match[0];
      const start = match.index + match[0].lastIndexOf(token);
      found.push({ kind, start, end: start + token.length });
    }
  }
  return withoutOverlaps(found);
}

/** Of two that overlap, the one that comes earlier in the list stays. */
function withoutOverlaps(tokens: readonly RuntimeToken[]): RuntimeToken[] {
  const ranked = tokens.map((token, rank) => ({ token, rank }));
  ranked.sort((a, b) => a.token.start - b.token.start || a.rank - b.rank);
  const kept: typeof ranked = [];
  for (const entry of ranked) {
    const last = kept.at(-1);
    if (last === undefined || entry.token.start >= last.token.end) kept.push(entry);
    else if (entry.rank < last.rank) kept[kept.length - 1] = entry;
  }
  return kept.map(({ token }) => token);
}
