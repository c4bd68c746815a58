// awb score end to end: files in, table, JSON and SQLite out.

import { appendFile, cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../../src/cli/score.js';
import { EXIT, type ExitCode } from '../../src/core/errors.js';
import { DIMENSIONS, DOMAINS } from '../../src/core/types.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { holdMessage } from '../support/messages.js';

const JUDGED = resolve(import.meta.dirname, '../../fixtures/judged');

let root: string;
let dir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'awb-score-'));
});
afterAll(() => rm(root, { recursive: true }));
beforeEach(async () => {
  dir = await mkdtemp(join(root, 'run-'));
});

interface Outcome {
  readonly code: ExitCode;
  readonly stdout: string;
  readonly stderr: string;
}

type ScoreSettings = Parameters<typeof command.run>[0];

async function run(settings: Partial<ScoreSettings> = {}, cwd = dir): Promise<Outcome> {
  const text = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    write: (part: string) => {
      text[name] += part;
    },
    isTTY: false,
    columns: 80,
  });
  const io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    env: {},
    cwd,
    stop: new AbortController().signal,
    setLastWords() {},
    stdinClosed: () => new Promise<undefined>(() => {}),
  };
  const defaults = {
    predictions: 'judged.jsonl',
    db: 'awb.sqlite',
    label: undefined,
    teacherForced: undefined,
    minCoverage: 0.99,
    prices: undefined,
    explain: false,
    config: undefined,
    printConfig: false,
    json: false,
    quiet: false,
    color: true,
    verbose: false,
  };
  const code = await command.run({ ...defaults, ...settings }, io, {}, async () => EXIT.done);
  return { code, ...text };
}

const json = async (settings: Partial<ScoreSettings> = {}, cwd = dir) =>
  JSON.parse((await run({ ...settings, json: true }, cwd)).stdout);

function query(sql: string, db = join(dir, 'awb.sqlite')): unknown[] {
  const database = openSqlite(db, { readonly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** A judged row of ours: every rating is `rating`, or, if that is a text, the row failed with that class. */
function rowOf(domain: string, index: number, rating: number | string): object {
  const isOk = typeof rating === 'number';
  const ratings = isOk
    ? { total_score: rating, format: rating, factuality: rating, consistency: rating, realism: rating, quality: rating }
    : { total_score: 0 };
  const judge = isOk ? { status: 'ok' } : { status: 'failed', class: rating, reason: 'why' };
  const awb = { key: `${domain}${index}`, trajectory: `${domain}-t${index}`, repeat: 0, flags: ['untagged'], judge };
  return { task: domain, turn_idx: 1, ...ratings, failed: isOk ? 0 : 1, awb };
}

const manifest = {
  schema: 'awb.manifest/1',
  kind: 'judge',
  label: 'second judge',
  meta: { judged_by: 'ci' },
  identity: { mode: 'rubric', judge: 'judge-model', rubrics: { name: 'bundled', fingerprint: 'r1' } },
  fingerprint: 'f1',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T01:00:00.000Z',
  chosen: { mcp: 2, swe: 2 },
  predictions: {
    label: 'step-100',
    meta: { step: '100' },
    identity: { model: 'world-model', protocol: 'history' },
    fingerprint: 'p1',
    startedAt: '2025-12-31T00:00:00.000Z',
  },
};

async function writeRun(rows: readonly object[], given: object | undefined = manifest, folder = dir): Promise<void> {
  await writeFile(join(folder, 'judged.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  if (given !== undefined) await writeFile(join(folder, 'judged.manifest.json'), JSON.stringify(given));
}

const complete = [rowOf('mcp', 0, 3), rowOf('mcp', 1, 4), rowOf('swe', 0, 2), rowOf('swe', 1, 2)];

it('for a run with failures and a domain of its own, prints figures first', async () => {
  await judgedRun(join(dir, 'run'), {
    label: 'step-100',
    domains: [...DOMAINS, 'robots'],
    rating: (domain, row) => (domain === 'web' && row === 3 ? undefined : around(3)(domain, row)),
    refuses: (domain, row) => domain === 'os' && row < 4,
  });
  await holdMessage('score', ['score', 'run', '--min-coverage', '0.9'], {}, { cwd: dir });
  await holdMessage('score-explained', ['score', 'run', '--min-coverage', '0.9', '--explain'], {}, { cwd: dir });
});

describe("the official script's own file", () => {
  it('gets every figure that the official script prints for it', async () => {
    await cp(join(JUDGED, 'official.jsonl'), join(dir, 'judged.jsonl'));
    const official = JSON.parse(await readFile(join(JUDGED, 'official-scores.json'), 'utf8'));
    const { stdout } = await run();
    const names = {
      mcp: 'MCP',
      search: 'Search',
      terminal: 'Terminal',
      swe: 'SWE',
      android: 'Android',
      web: 'Web',
      os: 'OS',
    };
    for (const [domain, printed] of Object.entries<Record<string, unknown>>(official.domains)) {
      // Figures that the model's own failures change are in their own table, below the others.
      const cells = stdout
        .split('\n')
        .findLast((line) => line.startsWith((names as Record<string, string>)[domain] ?? domain));
      const { valid, failed, ...figures } = printed;
      expect(cells?.split(/\s+/).slice(1, 8)).toEqual([
        `${valid}/${Number(valid) + Number(failed)}`,
        ...Object.values(figures),
      ]);
    }
    const micro = stdout.split('\n').findLast((line) => line.startsWith('micro'));
    expect(micro?.split(/\s+/)[7]).toBe(official.overall_micro);
  });

  it('is scored without a manifest, and is the same run wherever it is', async () => {
    await cp(join(JUDGED, 'official.jsonl'), join(dir, 'judged.jsonl'));
    await cp(join(JUDGED, 'official.jsonl'), join(dir, 'copy.jsonl'));
    await run();
    expect((await json({ predictions: 'copy.jsonl' })).run).toMatchObject({ replaced: true });
    await appendFile(join(dir, 'copy.jsonl'), '{"task": "mcp", "failed": 1}\n');
    expect((await json({ predictions: 'copy.jsonl' })).run).toMatchObject({ replaced: false });
  });
});

describe('what a run cost', () => {
  const call = { attempts: 1, usage: { promptTokens: 1_000_000, completionTokens: 100_000 }, ms: 5, host: 'h' };
  const priced = {
    ...manifest,
    servedModels: ['judge-2026'],
    predictions: {
      ...manifest.predictions,
      price: { model: 'wm', source: 'as asked', input: 0.5, output: 2 },
      costs: { mcp: { rows: 2, usage: { promptTokens: 30, completionTokens: 4 }, usd: 0.034 } },
    },
  };
  const writeJudgeJournal = () =>
    writeFile(
      join(dir, 'judged.journal.jsonl'),
      ['mcp0', 'mcp1', 'swe0'].map((key) => `${JSON.stringify({ id: `${key}#0`, row: {}, log: call })}\n`).join(''),
    );

  it('is shown for world model and judge, by domain under --verbose, and repriced by --prices', async () => {
    await writeRun(complete, priced);
    await writeJudgeJournal();
    await writeFile(join(dir, 'p.yaml'), 'unit: million-tokens\nmodels: { judge-model: { input: 1, output: 10 } }\n');
    const told = (await run()).stdout;
    expect(told).toMatch(/^World model +30 +- +4 +- +\$0\.034$/m);
    expect(told).toMatch(/^Judge +3,000,000 +- +300,000 +- +unknown$/m);
    expect(told).toContain('World model: price of wm by as asked.');
    const repriced = (await run({ prices: 'p.yaml', verbose: true })).stdout;
    expect(repriced).toMatch(/^Judge +3,000,000 +- +300,000 +- +≥ \$6\.00$/m);
    expect(repriced).toMatch(/^ {2}MCP +2,000,000 +- +200,000 +- +\$4\.00$/m);
    expect(repriced).toContain('without 1 row of unknown cost');
    expect(
      repriced.split('\n').every((line) => line.length <= 80 || line.startsWith('next:') || /^ {6}/.test(line)),
    ).toBe(true);
  });

  it('is in the document and in SQLite, where a row has the cost of judging it', async () => {
    await writeRun(complete, priced);
    await writeJudgeJournal();
    await writeFile(join(dir, 'p.yaml'), 'unit: million-tokens\nmodels: { judge-model: { input: 1, output: 10 } }\n');
    const { costs } = await json({ prices: 'p.yaml' });
    expect(costs.world_model).toMatchObject({ rows: 2, prompt_tokens: 30, usd: 0.034, unpriced: 0 });
    expect(costs.judge).toMatchObject({ rows: 3, usd: 6, unpriced: 1, price: { model: 'judge-model', input: 1 } });
    expect(costs.judge.domains.swe).toMatchObject({ rows: 1, usd: 2, unpriced: 1 });
    expect(query('SELECT key, usd FROM judgements ORDER BY key')).toEqual([
      { key: 'mcp0', usd: 2 },
      { key: 'mcp1', usd: 2 },
      { key: 'swe0', usd: 2 },
      { key: 'swe1', usd: null },
    ]);
    expect(query("SELECT usd, unpriced FROM run_costs WHERE asked = 'judge'")).toEqual([{ usd: 6, unpriced: 1 }]);
  });

  it('is not shown for a file of the official script', async () => {
    await cp(join(JUDGED, 'official.jsonl'), join(dir, 'judged.jsonl'));
    expect((await run()).stdout).not.toContain('Tokens');
    expect((await json()).costs).toEqual({ world_model: null, judge: null });
  });
});

describe('the document of --json', () => {
  it('has unrounded figures by domain and overall, and nothing else is on stdout', async () => {
    await writeRun(complete);
    const document = await json();
    expect(document).toMatchObject({
      schema: 'awb.score/1',
      run: { id: 1, replaced: false, label: 'step-100', world_model: 'world-model', judge_model: 'judge-model' },
      db: join(dir, 'awb.sqlite'),
      chosen: 4,
      valid: 4,
      failed: 0,
      coverage: 1,
      below_min_coverage: [],
      macro_of: 2,
      overall: { total_score: 43.75, format: 43.75 },
      overall_micro: { total_score: 43.75 },
    });
    expect(document.run.meta).toEqual({ step: '100', judged_by: 'ci' });
    expect(document.domains.mcp).toMatchObject({
      chosen: 2,
      valid: 2,
      failed: 0,
      coverage: 1,
      format: 62.5,
      factuality: 62.5,
      consistency: 62.5,
      realism: 62.5,
      quality: 62.5,
      total_score: 62.5,
      with_failures: { total_score: 62.5 },
      flags: { untagged: 2 },
      measures: {},
    });
    const none = { se: null, df: null, low: null, high: null };
    expect(document.domains.mcp.intervals.total_score).toEqual({ rows: 2, clusters: 2, ...none });
  });

  it('has intervals from five trajectories on, within the scale', async () => {
    await writeRun([5, 5, 4, 5, 5].map((rating, place) => rowOf('mcp', place, rating)));
    const { se, df, low, high } = (await json()).domains.mcp.intervals.total_score;
    expect(se).toBeCloseTo(5, 9);
    expect(df).toBeCloseTo(4, 9);
    expect([low > 50, low < 90, high > 97, high < 100]).toEqual([true, true, true, true]);
  });

  it('has null for a score without any row', async () => {
    await writeRun([rowOf('mcp', 0, 'judge-timeout')]);
    const document = await json();
    expect(document.domains.mcp).toMatchObject({ valid: 0, total_score: null, format: null });
    expect(document.overall.total_score).toBeNull();
  });

  it('keeps measures apart from ratings', async () => {
    const row = {
      task: 'mcp',
      turn_idx: 1,
      awb: { key: 'a', trajectory: 't', repeat: 0, flags: [], measures: { chrf: 12.345 } },
    };
    await writeRun([row], { ...manifest, chosen: { mcp: 1 } });
    const document = await json();
    expect(document.domains.mcp.measures.chrf).toMatchObject({ value: 12.345, rows: 1 });
    expect(document.overall_measures.chrf.value).toBe(12.345);
    expect(document.overall.total_score).toBeNull();
    const { stdout } = await run();
    expect(stdout).toContain('chrf');
    expect(stdout).not.toContain('Fact');
  });
});

describe('what people see', () => {
  it('names the run, shows table, failures, flags and the SQLite file, and says what to type next', async () => {
    await writeRun([...complete.slice(1), rowOf('mcp', 0, 'empty')]);
    const { code, stdout, stderr } = await run();
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain('step-100, world model world-model, judge judge-model, rubrics bundled');
    expect(stdout).toMatch(/^macro of 2/m);
    expect(stdout).toContain('\nfailed: empty 1\nflags: untagged 4\nstored: awb.sqlite (SQLite; run 1)\n');
    expect(stdout).toContain('\nnext: awb leaderboard\n      awb report --run 1\n      awb compare BASE 1\n');
    expect(stderr).toBe('');
    expect((await run()).stdout).toContain('run 1, replaced');
  });

  it('reports single judgements if predictions have several', async () => {
    const again = (index: number, rating: number | string) => {
      const { awb, ...row } = rowOf('mcp', 0, rating) as { awb: { judge: object } };
      return { ...row, awb: { ...awb, judge: { ...awb.judge, index } } };
    };
    await writeRun([...complete, again(1, 5), again(2, 'unreadable')]);
    expect((await run()).stdout).toContain('\njudgements: 6 (failed: unreadable 1)\n');
    expect((await json()).judgements).toEqual({ count: 6, failures: { unreadable: 1 } });
    await writeRun(complete);
    expect((await run()).stdout).not.toContain('judgements:');
  });

  it('calls the mean over domains Overall if all seven are there', async () => {
    const rows = DOMAINS.map((domain) => rowOf(domain, 0, 3));
    await writeRun(rows, { ...manifest, chosen: Object.fromEntries(DOMAINS.map((domain) => [domain, 1])) });
    expect((await run()).stdout).toMatch(/^Overall +7\/7/m);
  });

  it('contains nothing harmful that texts in the files could bring to the terminal', async () => {
    const evil = '\x1b]52;c;aGk=\x07\x1b[2J\r';
    await writeRun([{ ...rowOf(`${evil}x`, 0, 3) }, rowOf('mcp', 1, `judge-${evil}`)], {
      ...manifest,
      predictions: { ...manifest.predictions, label: evil },
    });
    const { stdout, stderr } = await run();
    expect(stdout + stderr).not.toMatch(/[\x1b\x07\r]/);
  });
});

describe('coverage', () => {
  it.each([
    ['every chosen row is judged', complete, 0.99, EXIT.done],
    ['a chosen row is missing from the file', complete.slice(1), 0.99, EXIT.incomplete],
    ['the judge failed a row', [...complete.slice(1), rowOf('mcp', 0, 'judge-timeout')], 0.99, EXIT.incomplete],
    ['the world model failed a row', [...complete.slice(1), rowOf('mcp', 0, 'refused')], 0.99, EXIT.done],
    ['as many rows as requested are judged', complete.slice(1), 0.5, EXIT.done],
  ])('if %s', async (_name, rows, minCoverage, code) => {
    await writeRun(rows);
    const outcome = await run({ minCoverage });
    expect(outcome.code).toBe(code);
    expect(outcome.stderr.includes('INCOMPLETE')).toBe(code === EXIT.incomplete);
  });

  it('below the minimum is reported per domain, also with --json', async () => {
    await writeRun(complete.slice(1));
    const { stdout, stderr, code } = await run({ json: true });
    expect(code).toBe(EXIT.incomplete);
    expect(stderr).toContain('MCP: 50 % of 2 predictions (not valid: not-judged 1)');
    expect(stderr).not.toContain('SWE');
    expect(JSON.parse(stdout).below_min_coverage).toEqual(['mcp']);
  });
});

describe('a run in SQLite', () => {
  const runs = (db?: string) => query('SELECT label, valid FROM runs ORDER BY id', db);

  it('contains names, meta and manifest, and the cost that the journal gives', async () => {
    await writeRun(complete);
    const log = { attempts: 3, usage: { promptTokens: 7 }, ms: 9, host: 'h' };
    await writeFile(
      join(dir, 'judged.journal.jsonl'),
      `${JSON.stringify({ id: 'mcp0#0', row: {}, log })}\n{"id": "torn`,
    );
    await run({ label: 'mine' });
    expect(
      query('SELECT label, kind, world_model, judge_model, rubric_pack, protocol, source, meta, ended_at FROM runs'),
    ).toEqual([
      {
        label: 'mine',
        kind: 'rubric',
        world_model: 'world-model',
        judge_model: 'judge-model',
        rubric_pack: 'bundled',
        protocol: 'history',
        source: join(dir, 'judged.jsonl'),
        meta: '{"step":"100","judged_by":"ci"}',
        ended_at: manifest.endedAt,
      },
    ]);
    expect(query('SELECT manifest FROM runs')).toEqual([{ manifest: JSON.stringify(manifest) }]);
    expect(
      query("SELECT attempts, prompt_tokens, ms FROM judgements WHERE key IN ('mcp0', 'mcp1') ORDER BY key"),
    ).toEqual([
      { attempts: 3, prompt_tokens: 7, ms: 9 },
      { attempts: null, prompt_tokens: null, ms: null },
    ]);
  });

  it('is replaced if the folder was continued, moved and given a new label', async () => {
    const db = join(root, 'moved.sqlite');
    await writeRun(complete.slice(1));
    await run({ db });
    const moved = `${dir}-moved`;
    await rename(dir, moved);
    const identity = { ...manifest.identity, snapshot: 'judge-model-2026' };
    await writeRun(complete, { ...manifest, identity, fingerprint: 'f2', endedAt: '2026-02-02T00:00:00.000Z' }, moved);
    await run({ db, label: 'renamed' }, moved);
    expect(runs(db)).toEqual([{ label: 'renamed', valid: 4 }]);
  });

  it.each([
    [
      'another checkpoint was asked',
      { predictions: { ...manifest.predictions, startedAt: '2026-03-03T00:00:00.000Z' } },
    ],
    ['another judge judged', { identity: { ...manifest.identity, judge: 'other' } }],
    ['the judge got other instructions', { identity: { ...manifest.identity, rubrics: { fingerprint: 'r2' } } }],
    ['the same judge judged from scratch', { startedAt: '2026-03-03T00:00:00.000Z' }],
  ])('stays if, in the same place, %s', async (_name, change) => {
    await writeRun(complete);
    await run();
    await writeRun(complete, { ...manifest, ...change });
    await run();
    expect(runs()).toHaveLength(2);
  });

  it('goes where --db says, and nowhere else', async () => {
    await writeRun(complete);
    await run({ db: 'shared.sqlite' });
    expect((await readdir(dir)).sort()).toEqual(['judged.jsonl', 'judged.manifest.json', 'shared.sqlite']);
  });
});

describe('bad input', () => {
  it('impossible ratings are named with file and line, and count only officially', async () => {
    const rated = (key: string, rating: number) => {
      const ratings = Object.fromEntries([...DIMENSIONS, 'total_score'].map((name) => [name, rating]));
      return JSON.stringify({ task: 'web', ...ratings, failed: 0, awb: { key, trajectory: key, repeat: 0 } });
    };
    await writeFile(join(dir, 'judged.jsonl'), `${rated('a', 3)}\n${rated('b', 100)}\n`);
    const { code, stderr, stdout } = await run({ json: true });
    expect(code).toBe(EXIT.incomplete);
    expect(stderr).toContain('Web: 50 % of 2 predictions (not valid: not-rated 1)');
    expect(stderr).toContain(`warning: ${join(dir, 'judged.jsonl')}:2: format 100, factuality 100`);
    expect(stderr).toContain('all other figures exclude them');
    const { domains } = JSON.parse(stdout);
    expect(domains.web.total_score).toBe(((51.5 - 1) / 4) * 100);
    expect(domains.web.with_failures.total_score).toBe(50);
  });

  it('predictions that were not judged are refused, and no SQLite file is created', async () => {
    await writeFile(join(dir, 'predictions.jsonl'), '{"task": "mcp", "gen": "x", "awb": {"key": "a"}}\n');
    const refused = run({ predictions: 'predictions.jsonl' });
    await expect(refused).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('run awb judge --predictions'),
    });
    expect(await readdir(dir)).toEqual(['predictions.jsonl']);
  });

  it('an unreadable manifest is refused by name', async () => {
    await writeRun(complete);
    await writeFile(join(dir, 'judged.manifest.json'), '{');
    await expect(run()).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('judged.manifest.json'),
    });
  });

  it('a missing file is reported as missing input', async () => {
    await expect(run()).rejects.toMatchObject({ exitCode: EXIT.inputMissing });
  });
});
