// Made-up runs and leaderboards, for tests of their output.

import { domainsOfMean } from '../../src/core/domains.js';
import { measuresOf } from '../../src/core/measures.js';
import { DIMENSIONS, DOMAINS, type DomainScore, type Estimate, type ScoreCard } from '../../src/core/types.js';
import { TEXT_FORMATS } from '../../src/report/formats.js';
import { type Block, leaderboard } from '../../src/report/leaderboard/leaderboard.js';
import type { BoardOptions, BoardRun, IsTied, JudgedWith } from '../../src/report/leaderboard/runs.js';
import { PUBLISHED_SOURCE } from '../../src/report/published.js';

const estimate = (value: number, rows = 9): Estimate => ({
  value,
  rows,
  clusters: 3,
  se: 1,
  df: 2,
  low: value - 4,
  high: value + 4,
});

interface Given {
  readonly domains?: readonly string[];
  readonly coverage?: number;
  readonly withFailures?: number;
  readonly measures?: Readonly<Record<string, number>>;
  readonly chosen?: number;
  /** The number of rows of each figure. */
  readonly rows?: number;
}

/** A card on which every figure is `value`. */
export function cardOf(value: number, given: Given = {}): ScoreCard {
  const { domains = DOMAINS, coverage = 1, withFailures = value, chosen = 70 } = given;
  const rated = (figure: number) =>
    given.measures === undefined
      ? Object.fromEntries([...DIMENSIONS, 'total'].map((name) => [name, estimate(figure, given.rows)]))
      : {};
  const measures = Object.fromEntries(
    Object.entries(given.measures ?? {}).map(([name, measure]) => [name, estimate(measure)]),
  );
  const scores: DomainScore[] = domains.map((domain) => ({
    domain,
    chosen: 10,
    valid: 10,
    failed: 0,
    failures: {},
    coverage,
    scores: rated(value),
    withFailures: rated(withFailures),
    measures,
    flags: {},
  }));
  return {
    domains: scores,
    overall: rated(value),
    macroOf: domainsOfMean(domains).length,
    overallMicro: rated(value),
    overallWithFailures: rated(withFailures),
    overallMeasures: measures,
    chosen,
    valid: chosen,
    failed: 0,
    coverage,
  };
}

export const OFFICIAL: JudgedWith = {
  kind: 'rubric',
  rates: true,
  judge: 'gpt-5.2',
  snapshot: PUBLISHED_SOURCE.judge,
  rubricPack: 'official',
  rubricFingerprint: '0123456789',
  verdicts: 'official',
  sampling: { temperature: 0.6 },
  protocol: 'history',
};
export const METRICS: JudgedWith = { kind: 'metrics', rates: false, protocol: 'history' };

let count = 0;
/** A run of the official judge; every call gives a new one, later than those before. */
export function run(label: string | undefined, value: number, more: Partial<BoardRun> & Given = {}): BoardRun {
  const number = ++count;
  return {
    id: `db#${number}`,
    db: 'db',
    number,
    label,
    worldModel: 'model',
    source: '/out/judged.jsonl',
    judgedWith: OFFICIAL,
    isBaseline: false,
    at: `2026-01-01T00:00:00.${String(number).padStart(3, '0')}Z`,
    card: cardOf(value, more),
    ...more,
  };
}

export const DEFAULTS: BoardOptions = {
  show: 'latest',
  per: 'label',
  columns: [],
  dimensions: false,
  measure: 'chrf',
  measureOf: measuresOf(),
  minCoverage: 0.99,
  withPublished: false,
  assumeSame: false,
};
export const never: IsTied = () => false;

export function blocksOf(
  runs: readonly BoardRun[],
  options: Partial<BoardOptions> = {},
  isTied = never,
): readonly Block[] {
  return leaderboard(runs, { ...DEFAULTS, ...options }, isTied).blocks;
}

export const names = (block: Block | undefined) => block?.rows.map((row) => row.name);
export const headings = (block: Block | undefined) => block?.columns.map((column) => column.short);
export const cellsOf = (block: Block | undefined, name: string) => block?.rows.find((row) => row.name === name)?.texts;

/** Names that act as markup or commands if they are not escaped. */
export const HOSTILE: readonly string[] = [
  '\x1b]52;c;aGk=\x07\x1b[31mred\x1b[2J',
  'a|b|c `code` **bold** [x](javascript:alert) https://evil.example www.evil.example @everyone',
  '=HYPERLINK("http://evil.example";"x")',
  '+1+cmd|calc!A0',
  '@SUM(1)',
  '-2+3;=1+1',
  '<script>alert(1)</script><img src=x onerror=alert(1)>"\'&amp;',
  '\\begin{document}\\input{/etc/passwd}%$#_^~{}',
  'line one\nline two\r\n| --- |\u2028x',
  '\u202egnp.exe\u2066 \u05d0\u05d1\u05d2',
  '"quoted", and; comma',
  '[*] first',
  '~~~',
  '__proto__',
];

export const LOOK = { columns: 80, color: false };

/** A leaderboard of these runs in a format. */
export function format(name: keyof typeof TEXT_FORMATS, runs: readonly BoardRun[], columns = 80): string {
  const board = leaderboard(runs, { ...DEFAULTS, withPublished: name !== 'hf' }, () => true);
  return TEXT_FORMATS[name].print(board, { ...LOOK, columns });
}

/** A run for each hostile name, and one for each with a harmless name. */
export const hostileRuns = HOSTILE.map((text) =>
  run(text, 50, {
    worldModel: text,
    trust: 'uncalibrated',
    judgedWith: { ...OFFICIAL, judge: text, rubricPack: text },
    domains: [...DOMAINS, text],
  }),
);
export const tame = HOSTILE.map((_, index) =>
  run('tame', 50, { trust: 'uncalibrated', judgedWith: { ...OFFICIAL, judge: `judge ${index}` } }),
);
