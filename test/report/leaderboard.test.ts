// Leaderboards: who shares a block with whom, what is marked, and that hostile names stay text in every format.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Block, BoardOptions, BoardRun, IsTied, JudgedWith } from '../../src/report/board/board.js';
import { csvCell, FORMATS, type Format } from '../../src/report/formats.js';
import { leaderboard } from '../../src/report/leaderboard.js';
import { STYLE } from '../../src/report/page/style.js';
import { PUBLISHED, PUBLISHED_SOURCE } from '../../src/report/published.js';
import { DIMENSIONS, DOMAINS, type DomainScore, type Estimate, type ScoreCard } from '../../src/types.js';

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
  /** Rows behind each figure. */
  readonly rows?: number;
}

/** A card on which every figure is `value`. */
function cardOf(value: number, given: Given = {}): ScoreCard {
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
    macroOf: domains.length,
    overallMicro: rated(value),
    overallWithFailures: rated(withFailures),
    overallMeasures: measures,
    chosen,
    valid: chosen,
    failed: 0,
    coverage,
  };
}

const OFFICIAL: JudgedWith = {
  kind: 'rubric',
  judge: 'gpt-5.2',
  snapshot: PUBLISHED_SOURCE.judge,
  rubricPack: 'official',
  rubricFingerprint: '0123456789',
  verdicts: 'official',
  sampling: { temperature: 0.6 },
  protocol: 'history',
};
const METRICS: JudgedWith = { kind: 'metrics', protocol: 'history' };

let count = 0;
function run(label: string | undefined, value: number, more: Partial<BoardRun> & Given = {}): BoardRun {
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

const DEFAULTS: BoardOptions = {
  show: 'latest',
  per: 'label',
  columns: [],
  dimensions: false,
  measure: 'chrf',
  minCoverage: 0.99,
  withPublished: false,
  assumeSame: false,
};
const never: IsTied = () => false;

function blocksOf(runs: readonly BoardRun[], options: Partial<BoardOptions> = {}, isTied = never): readonly Block[] {
  return leaderboard(runs, { ...DEFAULTS, ...options }, isTied).blocks;
}

const names = (block: Block | undefined) => block?.rows.map((row) => row.name);
const headings = (block: Block | undefined) => block?.columns.map((column) => column.short);
const cellsOf = (block: Block | undefined, name: string) => block?.rows.find((row) => row.name === name)?.texts;

describe('runs share a block only where they were judged alike', () => {
  it.each<[string, Partial<JudgedWith>]>([
    ['another judge', { judge: 'other' }],
    ['another snapshot of the judge', { snapshot: 'gpt-5.2-2026-06-01' }],
    ['another rubric pack', { rubricPack: 'awb-1' }],
    ['the same pack, reworded', { rubricFingerprint: 'ffff' }],
    ['replies read otherwise', { verdicts: 'strict' }],
    ['another sampling of the judge', { sampling: { temperature: 0 } }],
    ['another protocol', { protocol: 'blind' }],
  ])('not with %s', (_what, change) => {
    const blocks = blocksOf([run('a', 60), run('b', 50), run('c', 70, { judgedWith: { ...OFFICIAL, ...change } })]);
    expect(blocks.map(names)).toEqual([['a', 'b'], ['c']]);
    expect(new Set(blocks.map((block) => block.title)).size).toBe(2);
  });

  it('in whatever order the judge sampling was written down', () => {
    const samplings = [
      { temperature: 1, topP: 0.9 },
      { topP: 0.9, temperature: 1 },
    ];
    const runs = samplings.map((sampling, index) => run(`r${index}`, 50, { judgedWith: { ...OFFICIAL, sampling } }));
    expect(blocksOf(runs)).toHaveLength(1);
  });

  it('and what is not known to be alike stands alone, unless the caller vouches for it', () => {
    const unknown: JudgedWith = { kind: 'rubric' };
    const runs = [run('a', 60, { judgedWith: unknown }), run('b', 50, { judgedWith: unknown })];
    expect(blocksOf(runs).map(names)).toEqual([['a'], ['b']]);
    const [assumed, ...more] = blocksOf(runs, { assumeSame: true });
    expect(more).toEqual([]);
    expect(names(assumed)).toEqual(['a', 'b']);
    expect(assumed?.notes.join()).toContain('--assume-same takes it');
    const noProtocol = { ...OFFICIAL, protocol: undefined };
    const official = [run('a', 60, { judgedWith: noProtocol }), run('b', 50, { judgedWith: noProtocol })];
    expect(blocksOf(official)).toHaveLength(2);
  });

  it('a baseline was asked under no protocol, and stands beside the runs of each', () => {
    const baseline = { judgedWith: { ...OFFICIAL, protocol: undefined }, isBaseline: true };
    const blind = { ...OFFICIAL, protocol: 'blind' };
    const blocks = blocksOf([run('a', 60), run('b', 50, { judgedWith: blind }), run('persistence', 40, baseline)]);
    expect(blocks.map(names)).toEqual([
      ['a', 'persistence'],
      ['b', 'persistence'],
    ]);
    expect(blocksOf([run('persistence', 40, baseline), run('empty', 0, baseline)]).map(names)).toEqual([
      ['persistence', 'empty'],
    ]);
  });

  it('measures are a block of their own, with a measure for each domain', () => {
    const measured = run('m', 0, { judgedWith: METRICS, measures: { chrf: 31.5, exact_match: 7 } });
    const [ratings, measures] = blocksOf([run('a', 60), measured]);
    expect(names(ratings)).toEqual(['a']);
    expect(cellsOf(measures, 'm')?.slice(0, 9)).toEqual(['m', ...Array(8).fill('31.50')]);
    expect(headings(measures)).not.toContain('Overall');
    expect(cellsOf(blocksOf([measured], { measure: 'exact_match' })[0], 'm')?.[1]).toBe('7.00');
    expect(() => blocksOf([measured], { measure: 'bleu' })).toThrow(
      'unknown measure "bleu"; the runs have chrf, exact_match',
    );
  });
});

describe('rows', () => {
  it('have the published columns in the published order', () => {
    expect(headings(blocksOf([run('a', 60)])[0])?.slice(0, 9)).toEqual([
      'Run',
      'MCP',
      'Search',
      'Term.',
      'SWE',
      'Android',
      'Web',
      'OS',
      'Overall',
    ]);
  });

  it('with fewer than seven domains, or more, show a macro mean and no Overall', () => {
    const six = run('six', 80, { domains: DOMAINS.slice(1) });
    const eight = run('eight', 80, { domains: [...DOMAINS, 'robotics'] });
    const [block] = blocksOf([run('seven', 50), six, eight]);
    const columns = block?.columns.map((column) => column.id) ?? [];
    const shown = (name: string) => ['overall', 'macro'].map((id) => cellsOf(block, name)?.[columns.indexOf(id)]);
    expect(shown('seven')).toEqual(['50.00', '-']);
    expect(shown('six')).toEqual(['-', 'macro of 6: 80.00']);
    expect(shown('eight')).toEqual(['-', 'macro of 8: 80.00']);
    expect(names(block)).toEqual(['seven', 'eight', 'six']);
  });

  it.each([
    ['latest', ['a', 'b'], ['40.00', '30.00']],
    ['best', ['a', 'b'], ['60.00', '30.00']],
    ['all', ['a', 'a', 'b'], ['60.00', '40.00', '30.00']],
  ] as const)('are the %s of each label', (show, labels, overall) => {
    const runs = [run('a', 60), run('a', 40), run('b', 30)];
    const [block] = blocksOf(runs, { show, columns: ['overall'] });
    expect(block?.rows.map((row) => row.run?.label)).toEqual(labels);
    expect(block?.rows.map((row) => row.texts[1])).toEqual(overall);
    expect(block?.notes.join().includes('best of up to 2 runs')).toBe(show === 'best');
  });

  it('are one for each model where models name them', () => {
    const runs = [run('a', 60), run('b', 40, { worldModel: 'other' }), run('c', 30)];
    expect(names(blocksOf(runs, { per: 'model' })[0])).toEqual(['other', 'model']);
  });

  it('an incomplete run is never the best of its label, stands last and is not marked', () => {
    const lucky = run('a', 99, { coverage: 0.5 });
    const [best] = blocksOf([run('a', 50), lucky], { show: 'best', columns: ['overall'] });
    expect(best?.rows[0]?.texts[1]).toBe('50.00');
    const [all] = blocksOf([run('a', 50), lucky, run('c', 40)], { show: 'all' }, () => true);
    expect(all?.rows.map((row) => [row.run?.label, row.marked.size > 0])).toEqual([
      ['a', true],
      ['c', true],
      ['a', false],
    ]);
    expect(all?.notes.join()).toContain(
      "A domain's coverage is below 99 %, so the run is neither tested nor marked: a (run",
    );
  });

  it('are chosen, sorted and shown by the score with failures, and the official one stands beside it where it differs', () => {
    const runs = [run('refuser', 60, { withFailures: 45 }), run('honest', 50)];
    const [block] = blocksOf(runs);
    expect(names(block)).toEqual(['honest', 'refuser']);
    const of = (name: string, id: string) =>
      cellsOf(block, name)?.[block?.columns.findIndex((column) => column.id === id) ?? -1];
    expect(['mcp', 'overall', 'official'].map((id) => of('refuser', id))).toEqual(['45.00', '45.00', '60.00']);
    expect(['mcp', 'overall', 'official'].map((id) => of('honest', id))).toEqual(['50.00', '50.00', '50.00']);
    expect(headings(blocksOf([run('b', 50)])[0])).not.toContain('Official');
    const [best] = blocksOf([run('a', 60, { withFailures: 45 }), run('a', 50)], { show: 'best', columns: ['overall'] });
    expect(best?.rows.map((row) => row.texts[1])).toEqual(['50.00']);
    expect(names(blocksOf(runs, { sort: 'official' })[0])).toEqual(['refuser', 'honest']);
  });

  it('of one name are told apart by step, by day or by number, whichever does', () => {
    const at = (day: number) => `2026-01-0${day}T00:00:00.000Z`;
    const alike = (more: readonly Partial<BoardRun>[]) =>
      names(
        blocksOf(
          more.map((one, index) => run('a', 60 - index, { number: index + 1, ...one })),
          { show: 'all' },
        )[0],
      );
    expect(alike([{ step: '100' }, { step: '200' }])).toEqual(['a (step 100)', 'a (step 200)']);
    expect(
      alike([
        { step: '1', at: at(1) },
        { step: '1', at: at(2) },
      ]),
    ).toEqual(['a (2026-01-01)', 'a (2026-01-02)']);
    expect(alike([{ at: at(1) }, { at: at(1) }])).toEqual(['a (run 1)', 'a (run 2)']);
    expect(
      alike([
        { at: at(1), db: 'x' },
        { at: at(1), db: 'y', number: 1 },
      ]),
    ).toEqual(['a (run 1 of x)', 'a (run 1 of y)']);
  });

  it('are sorted and shown by columns as asked', () => {
    const runs = [run('a', 50), run('c', 60), run('b', 40)];
    expect(names(blocksOf(runs)[0])).toEqual(['c', 'a', 'b']);
    expect(names(blocksOf(runs, { sort: 'name' })[0])).toEqual(['a', 'b', 'c']);
    expect(headings(blocksOf(runs, { columns: ['web', 'mcp', 'date'] })[0])).toEqual(['Run', 'Web', 'MCP', 'Date']);
    expect(headings(blocksOf(runs, { dimensions: true })[0])).toContain('Factuality');
    expect(() => blocksOf(runs, { columns: ['overal'] })).toThrow('did you mean "overall"?');
    expect(() => blocksOf(runs, { sort: 'nonsense-column' })).toThrow('The columns are mcp, search');
  });

  it('a domain that is called like another column is known by another name', () => {
    const [block] = blocksOf([run('a', 50, { domains: ['overall', '__proto__'] })]);
    expect(block?.columns.map((column) => column.id)).toEqual(expect.arrayContaining(['domain:overall', '__proto__']));
    expect(cellsOf(block, 'a')?.slice(1, 3)).toEqual(['50.00', '50.00']);
  });
});

describe('marks', () => {
  it('go to the best of a column and to what cannot be told from it', () => {
    const runs = [run('best', 60), run('near', 58), run('far', 30)];
    const asked: string[] = [];
    const [block] = blocksOf(runs, { columns: ['mcp', 'overall'] }, (best, other, { domain, name }) => {
      asked.push(`${best.label}:${other.label}:${domain ?? 'all'}:${name}`);
      return other.label === 'best' || (other.label === 'near' && domain === undefined);
    });
    expect(block?.rows.map((row) => [...row.marked])).toEqual([['mcp', 'overall'], ['overall'], []]);
    expect(asked.slice(0, 4)).toEqual([
      'near:best:mcp:total',
      'far:best:mcp:total',
      'best:near:mcp:total',
      'best:far:mcp:total',
    ]);
  });

  it('are left out where there is nothing to compare with', () => {
    const [block] = blocksOf([run('only', 60)], { withPublished: true }, () => true);
    expect(block?.rows.flatMap((row) => [...row.marked])).toEqual([]);
    expect(block?.markNote).toBeUndefined();
  });

  it('go to nobody where no run could be tested against the best, and a note says so', () => {
    const [block] = blocksOf([run('a', 60), run('b', 50)], {}, () => undefined);
    expect(block?.rows.map((row) => row.marked.size > 0)).toEqual([false, false]);
    expect(block?.notes.join()).toContain('too few in common with the best, so not tested: b.');
  });

  it('never go to a figure without a standard error, which comes of too few trajectories', () => {
    const lucky = run('lucky', 99);
    const bare = ({ value, rows, clusters }: Estimate) => ({ value, rows, clusters });
    const domains = lucky.card.domains.map((score) =>
      score.domain === 'mcp'
        ? { ...score, withFailures: { total: bare(score.withFailures.total as Estimate) } }
        : score,
    );
    const runs = [{ ...lucky, card: { ...lucky.card, domains } }, run('a', 60), run('b', 50)];
    const [block] = blocksOf(runs, { columns: ['mcp', 'web'] }, () => true);
    expect(block?.rows.map((row) => [row.name, [...row.marked]])).toEqual([
      ['lucky', ['web']],
      ['a', ['mcp', 'web']],
      ['b', ['mcp', 'web']],
    ]);
    expect(block?.notes.join()).toContain('not tested: lucky (MCP).');
  });

  it('are of as many runs as there are to choose the best from', () => {
    const counts = new Set<number>();
    const runs = [1, 2, 3, 4].map((place) => run(`r${place}`, 50 + place));
    blocksOf([...runs, run('lacking', 99, { coverage: 0.5 })], {}, (_best, _other, _figure, of) => {
      counts.add(of);
      return true;
    });
    expect([...counts]).toEqual([4]);
  });

  it('compare means only over the same domains', () => {
    const runs = [
      run('four', 90, { domains: DOMAINS.slice(0, 4) }),
      run('three', 80, { domains: DOMAINS.slice(0, 3) }),
    ];
    const [block] = blocksOf(runs, { columns: ['mcp', 'macro'] }, () => true);
    expect(block?.rows.map((row) => [...row.marked])).toEqual([['mcp'], ['mcp']]);
    const [mixed] = blocksOf([...runs, run('x', 50), run('y', 40)], { columns: ['overall', 'format'] }, () => true);
    const marked = mixed?.rows.map((row) => [row.name, [...row.marked]]);
    expect(marked).toEqual([
      ['x', ['overall', 'format']],
      ['y', ['overall', 'format']],
      ['four', []],
      ['three', []],
    ]);
  });
});

describe('a run over fewer rows than others', () => {
  const whole = run('whole', 50, { rows: 40 });
  const easy = run('easy', 90, { rows: 30 });

  it('stands behind them, whatever its figures, and is neither tested nor marked', () => {
    const [block] = blocksOf([easy, whole, run('other', 49, { rows: 40 })], {}, () => true);
    expect(names(block)).toEqual(['whole', 'other', 'easy']);
    expect(block?.rows.map((row) => [row.hasFewerRows, row.marked.has('overall')])).toEqual([
      [false, true],
      [false, true],
      [true, false],
    ]);
    const notes = block?.notes.join(' ');
    expect(notes).toContain('ranked behind them and neither tested nor marked: easy (MCP 30,');
    expect(notes).toContain('different numbers of rows: 210 to 280');
  });

  it('over as many rows, but others, is not marked where it is behind on those that both have', () => {
    const [lucky, better, third] = [run('lucky', 60), run('better', 50), run('third', 40)];
    const isTied: IsTied = (best, other) => !(best === better && other === lucky);
    const [block] = blocksOf([lucky, better, third], {}, isTied);
    expect(block?.rows.map((row) => [row.name, row.marked.has('overall')])).toEqual([
      ['lucky', false],
      ['better', true],
      ['third', true],
    ]);
    expect(block?.notes.join(' ')).toContain(
      'behind another run on the rows that both have, so not marked: lucky (MCP,',
    );
  });

  it('is not the best of its name', () => {
    const [block] = blocksOf([whole, run('whole', 90, { rows: 30 })], { show: 'best' });
    expect(block?.rows.map((row) => row.figures.get('overall')?.value)).toEqual([50]);
  });

  it.each([
    ['a few rows that the judge failed', 0.99, 995, false],
    ['as --min-coverage has it', 0.5, 600, false],
    ['more', 0.99, 980, true],
  ])('is none for %s', (_, minCoverage, rows, hasFewerRows) => {
    const [block] = blocksOf([run('a', 50, { rows: 1000 }), run('b', 60, { rows })], { minCoverage });
    expect(block?.rows.find(({ name }) => name === 'b')).toMatchObject({ hasFewerRows });
  });
});

describe('published rows', () => {
  const published = JSON.parse(readFileSync(new URL('../../fixtures/published.json', import.meta.url), 'utf8'));

  it('are those of the model card', () => {
    expect(PUBLISHED.map((row) => ({ ...row, scores: Object.fromEntries(row.scores) }))).toEqual(published.rows);
    expect(PUBLISHED_SOURCE).toMatchObject({ text: published.source, judge: published.judge });
  });

  it('stand in the official block alone, unmarked, with their source and the one odd Overall', () => {
    const other = run('other', 99, { judgedWith: { ...OFFICIAL, judge: 'other', snapshot: undefined } });
    const [official, rest] = blocksOf([run('a', 57), run('b', 56), other], { withPublished: true }, () => true);
    expect(official?.rows).toHaveLength(16);
    expect(names(official)?.slice(0, 5)).toEqual(['a', 'b', 'Qwen-AgentWorld-397B-A17B', 'GPT-5.4', 'Claude Opus 4.6']);
    expect(official?.notes.join()).toContain('official figures, neither ranked, tested nor marked');
    expect(official?.rows.filter((row) => row.marked.size > 0).map((row) => row.name)).toEqual(['a', 'b']);
    const notes = official?.notes.join('\n') ?? '';
    expect(notes).toContain(published.source);
    expect(notes.match(/published as .*/g)).toEqual(['published as 58.71, the mean of its columns is 58.76.']);
    expect(names(rest)).toEqual(['other']);
  });

  it('have a block of their own where no run was judged as they were', () => {
    const strict = run('a', 57, { judgedWith: { ...OFFICIAL, verdicts: 'strict' } });
    const blocks = blocksOf([strict], { withPublished: true });
    expect(blocks.map((block) => [block.isOfficial, block.rows.length])).toEqual([
      [true, 14],
      [false, 1],
    ]);
  });
});

const HOSTILE: readonly string[] = [
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

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');
const LOOK = { columns: 80, color: false, unofficial: false, sha256 };

function format(name: Format, runs: readonly BoardRun[], columns = 80, unofficial = true): string {
  const board = leaderboard(runs, { ...DEFAULTS, withPublished: name !== 'hf' }, () => true);
  return FORMATS[name](board, { ...LOOK, columns, unofficial });
}

const hostileRuns = HOSTILE.map((text) =>
  run(text, 50, {
    worldModel: text,
    judgedWith: { ...OFFICIAL, judge: text, rubricPack: text },
    domains: [...DOMAINS, text],
  }),
);
const tame = HOSTILE.map((_, index) => run('tame', 50, { judgedWith: { ...OFFICIAL, judge: `judge ${index}` } }));

/** Fields of RFC 4180, by lines. */
function readCsv(text: string): string[][] {
  const lines: string[][] = [[]];
  const field = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const [, raw = '', end] = match;
    lines.at(-1)?.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end === '\r\n') lines.push([]);
    if (field.lastIndex === text.length) break;
  }
  expect(field.lastIndex).toBe(text.length);
  return lines.slice(0, -1);
}

describe('hostile names stay text', () => {
  it('in a terminal, where no control or reordering character arrives', () => {
    const text = format('terminal', hostileRuns);
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
    expect(text).toContain('line one line two');
  });

  it('in Markdown, where every row keeps its cells and nothing opens', () => {
    const text = format('md', hostileRuns);
    const tables = text.match(/(?:^\|.*\n)+/gm) ?? [];
    expect(tables).toHaveLength(HOSTILE.length + 1);
    for (const table of tables) {
      const widths = table.split('\n').map((line) => line.replace(/\\[\\|]/g, '').split('|').length);
      expect(new Set(widths.slice(0, -1)).size).toBe(1);
    }
    const unescaped = text.replace(/\\[\\`*_[\]<>&|~#$:.]/g, '');
    expect(unescaped).not.toMatch(/<(?!!-- -->)|`|\[|https?:\/\/|www\.|(?<!\*)\*(?!\*)/);
    expect(unescaped).not.toMatch(/@(?!<!-- -->)/);
  });

  it('in CSV, where no field is a formula and every text is read back', () => {
    const lines = readCsv(format('csv', hostileRuns));
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
    const fields = lines.flat().filter((field) => !/^-?[\d.]+$/.test(field));
    expect(fields.filter((field) => /(^|;)\s*[=+\-@\t\r]/.test(field))).toEqual([]);
    expect(fields).toContain('line one line two | --- | x');
    expect(lines.flat().join('')).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    expect(fields).toContain(`'=HYPERLINK("http://evil.example";"x")`);
  });

  it('in JSON, which is ASCII and gives every label back as it was', () => {
    const text = format('json', hostileRuns);
    expect(text).toMatch(/^[\x20-\x7e]+\n$/);
    const { schema, blocks } = JSON.parse(text);
    expect(schema).toBe('awb.leaderboard/2');
    const labels = blocks.flatMap((block: { rows: { label: string | null }[] }) => block.rows.map((row) => row.label));
    expect(labels.filter((label: string | null) => label !== null).sort()).toEqual([...HOSTILE].sort());
  });

  it('in LaTeX, where only our own commands remain', () => {
    const commands = (text: string) => new Set(text.match(/\\(?:[a-z]+|[^a-z])/gi));
    const escapes = ['\\_', '\\#', '\\$', '\\%', '\\&', '\\{', '\\}', '\\textasciitilde', '\\textasciicircum'];
    escapes.push('\\textbackslash', '\\textbar', '\\textless', '\\textgreater', '\\textquotedbl', '\\ldots');
    const known = new Set([...commands(format('latex', tame)), ...escapes]);
    const text = format('latex', hostileRuns);
    expect([...commands(text)].filter((command) => !known.has(command))).toEqual([]);
    expect(text.match(/\\begin\{/g)).toHaveLength(2 * (HOSTILE.length + 1));
    expect(text).not.toMatch(/\\\\\n\s*[[*]/);
  });

  it('in HTML, which has the tags and attributes of a tame page', () => {
    const plain = (text: string) => text.replace(/ data-label="[^"<>]*"/g, '');
    const tags = (text: string) =>
      [...new Set(plain(text).match(/<[^>]*>/g))].filter((tag) => !/id="|labelledby="/.test(tag));
    const known = new Set([...tags(format('html', tame)), '<bdi>', '</bdi>']);
    expect(tags(format('html', hostileRuns)).filter((tag) => !known.has(tag))).toEqual([]);
  });

  it("in Hugging Face's YAML, which reads back as one entry for each figure", () => {
    for (const hostile of hostileRuns) {
      const seven = { ...hostile, card: cardOf(56.785) };
      const entries = parse(format('hf', [seven]));
      expect(entries.map((entry: { dataset: { task_id: string } }) => entry.dataset.task_id)).toEqual([
        'overall',
        ...DOMAINS,
      ]);
      expect(entries[0]).toMatchObject({ dataset: { id: 'Qwen/AgentWorldBench' }, value: 56.78, date: '2026-01-01' });
      expect(Object.keys(entries[0])).toEqual(['dataset', 'value', 'date', 'notes']);
    }
  });
});

describe('formats', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['=1', "'=1"],
    [' =1', "' =1"],
    ['＝1', "'＝1"],
    ['a;=1', '"a;\'=1"'],
    ['a-b=c', 'a-b=c'],
    [-25.5, '-25.5'],
    [null, ''],
    [false, 'false'],
  ])('CSV writes %j as %s', (value, text) => {
    expect(csvCell(value)).toBe(text);
  });

  it('without colours an asterisk marks what is bold with them', () => {
    const board = leaderboard([run('a', 60), run('b', 50)], { ...DEFAULTS, columns: ['mcp'] }, never);
    const plain = FORMATS.terminal(board, LOOK);
    expect(plain).toMatch(/^a +60\.00\*\nb +50\.00$/m);
    const colored = FORMATS.terminal(board, { ...LOOK, color: true });
    expect(colored).toContain('\x1b[1m60.00\x1b[0m');
    expect(colored).not.toContain('60.00*');
  });

  it.each([40, 80, 120])('every line of a table fits %i columns', (columns) => {
    const runs = [run('step-100', 60, { withFailures: 50 }), run('step-200', 50)];
    const lines = format('terminal', runs, columns).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  it('the page admits its own style, which is that of the report, and nothing else', () => {
    const page = format('html', tame);
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
    expect(style).toBe(STYLE);
    expect(page).toContain(`content="default-src 'none'; style-src 'sha256-${sha256(style)}'; img-src data:; base-uri`);
    expect(page).not.toMatch(/<script|\ssrc=|url\(|@import|\sstyle=|href="(?!data:,"|#)/);
  });

  it('the page shows each interval once, own runs above published ones, and figures of another counting under their own', () => {
    const page = format('html', [run('a', 60, { withFailures: 45 }), run('b', 30)]);
    expect(page.match(/41\.00–49\.00/g)).toHaveLength(8);
    expect(page.match(/official 60\.00/g)).toHaveLength(8);
    expect(page.indexOf('<th scope="row">b</th>')).toBeLessThan(page.indexOf('<tbody class="published">'));
    expect(page.indexOf('<tbody class="published">')).toBeLessThan(page.indexOf('GPT-5.4'));
  });

  it('a name that is too long for a terminal ends between two of its parts', () => {
    const long = 'qwen-agentworld-35b-a3b-finetuned-on-terminal-and-swe';
    const text = format('terminal', [run(long, 60), run('y'.repeat(60), 50)], 120);
    expect(text).toContain('qwen-agentworld-35b-a3b-finetuned-on-… ');
    expect(text).toContain(`${'y'.repeat(39)}…`);
  });

  it('a file for Hugging Face is of one run with ratings', () => {
    expect(() => format('hf', [run('a', 60), run('b', 50)])).toThrow('these are 2 runs; choose one with --run');
    const measured = run('m', 0, { judgedWith: METRICS, measures: { chrf: 31 } });
    expect(() => format('hf', [measured])).toThrow('none of these runs has ratings');
    const partial = run('p', 50, { domains: ['mcp', 'web'] });
    const tasks = parse(format('hf', [partial])).map(
      (entry: { dataset: { task_id: string } }) => entry.dataset.task_id,
    );
    expect(tasks).toEqual(['mcp', 'web']);
  });

  it.each<[string, Partial<JudgedWith>]>([
    ['judge', { judge: 'local', snapshot: undefined }],
    ['rubric pack', { rubricPack: 'awb-1' }],
    ['reading', { verdicts: 'strict' }],
    ['protocol', { protocol: 'blind' }],
  ])('a file for Hugging Face of another %s is refused, or says so in itself', (_what, change) => {
    const other = [run('a', 60, { judgedWith: { ...OFFICIAL, ...change } })];
    expect(() => format('hf', other, 80, false)).toThrow('--unofficial');
    const text = format('hf', other);
    expect(text).toMatch(/^# NOT THE OFFICIAL JUDGE/m);
    for (const { notes } of parse(text)) expect(notes).toMatch(/^NOT THE OFFICIAL JUDGE, RUBRIC PACK OR PROTOCOL/);
    expect(format('hf', [run('a', 60)], 80, false)).not.toContain('NOT THE OFFICIAL');
  });

  it('a file for Hugging Face holds official figures, with our own in its notes', () => {
    const [entry] = parse(format('hf', [run('a', 60, { withFailures: 45 })], 80, false));
    expect(entry).toMatchObject({ value: 60 });
    expect(entry.notes).toContain("45.00 with the model's failures at rating 1; 95 % interval of that 41.00 to 49.00");
  });
});
