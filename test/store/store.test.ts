// A stored run: what the file contains, and that a run is never duplicated or half replaced.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunRecord, StoredJudgement } from '../../src/store/runs.js';
import { SCHEMA_VERSION } from '../../src/store/schema.js';
import { openStore } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { card, failed, queryIn, rated, runOf, saveIn } from '../support/stored-runs.js';
import { type Compiled, compileStore } from './compiled.js';

let path: string;
let compiled: Compiled;
beforeAll(async () => {
  compiled = await compileStore();
});
afterAll(() => compiled.remove());
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

const save = (run: RunRecord, judgements?: readonly StoredJudgement[]) => saveIn(path, run, judgements);
const query = (sql: string) => queryIn(path, sql);

const TABLES = ['calibrations', 'judgements', 'predictions', 'runs'];
const VIEWS = [
  'calibration_figures',
  'decision_equivalence',
  'domain_costs',
  'domain_counts',
  'domain_scores',
  'measures',
  'overall_scores',
  'run_costs',
  'scenario_figures',
];

const countsByTable = () =>
  Object.fromEntries([...TABLES, ...VIEWS].map((table) => [table, query(`SELECT count(*) AS n FROM ${table}`)[0]?.n]));

describe('a new file', () => {
  it('has the schema, all tables strict, views of the documents, and a rollback journal', () => {
    openStore(path).close();
    expect(query('PRAGMA user_version')).toEqual([{ user_version: SCHEMA_VERSION }]);
    expect(query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'delete' }]);
    const named = (type: string) =>
      query(
        `SELECT name, strict FROM pragma_table_list WHERE type = '${type}' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
      );
    expect(named('table')).toEqual(TABLES.map((name) => ({ name, strict: 1 })));
    expect(named('view').map(({ name }) => name)).toEqual(VIEWS);
  });

  it('is created once if several processes open it together, and stores the runs of all', async () => {
    const script = await compiled.script(
      'together.js',
      `import { openStore } from './store/store.js';
       const [path, run, card] = process.argv.slice(2).map((text, index) => index === 0 ? text : JSON.parse(text));
       const store = openStore(path, 20000);
       store.saveRun({ ...run, identity: String(process.pid) }, [], card);
       store.close();`,
    );
    const args = [script, path, JSON.stringify({ ...runOf(''), costs: {} }), JSON.stringify(card)];
    await Promise.all(Array.from({ length: 6 }, () => promisify(execFile)(process.execPath, args)));
    expect(countsByTable()).toMatchObject({ runs: 6, domain_counts: 6 });
  });
});

describe('a stored run', () => {
  it('contains the judgements with ratings, failures, flags, attempts, tokens and measures', () => {
    const { id } = save(runOf('a'));
    const rows = query('SELECT * FROM judgements ORDER BY repeat');
    // Later versions may add columns.
    expect(rows).toMatchObject([
      {
        run_id: id,
        key: 'k1',
        repeat: 0,
        judgement_index: 0,
        trajectory: 't1',
        domain: 'mcp',
        turn_idx: 2,
        status: 'ok',
        failure_class: null,
        failure_reason: null,
        failed: 0,
        format: 5,
        factuality: 4,
        consistency: 4,
        realism: 3,
        quality: 3,
        total: 3.8,
        flags: '["truncated"]',
        attempts: 2,
        prompt_tokens: 19_000,
        cached_tokens: null,
        completion_tokens: 280,
        reasoning_tokens: null,
        ms: 4200.5,
        usd: 0.0375,
      },
      {
        status: 'failed',
        failure_class: 'judge-timeout',
        failure_reason: 'no token for 900 s',
        factuality: null,
        attempts: null,
        usd: null,
      },
    ]);
    expect(query('SELECT name, value FROM measures ORDER BY name')).toEqual([
      { name: 'chrf', value: 61.25 },
      { name: 'exact_match', value: 0 },
    ]);
  });

  it('stores the cost of each prediction once, however often it was judged', () => {
    const again = { ...rated, row: { ...rated.row, index: 1 } };
    const { id } = save(runOf('a'), [rated, failed, again]);
    expect(query('SELECT * FROM predictions')).toEqual([
      {
        run_id: id,
        key: 'k1',
        repeat: 0,
        domain: 'mcp',
        attempts: 1,
        prompt_tokens: 19_000,
        cached_tokens: 18_000,
        completion_tokens: 280,
        reasoning_tokens: null,
        ms: 99.5,
        usd: 0.15,
      },
    ]);
  });

  it('stores the costs of world model and judge, in total and by domain', () => {
    save(runOf('a'));
    expect(query('SELECT asked, rows, prompt_tokens, usd, unpriced, price FROM run_costs ORDER BY asked DESC')).toEqual(
      [
        {
          asked: 'world_model',
          rows: 3,
          prompt_tokens: 19_000,
          usd: 0.25,
          unpriced: 0,
          price: JSON.stringify(runOf('a').costs?.world_model?.price),
        },
        { asked: 'judge', rows: 1, prompt_tokens: 19_000, usd: null, unpriced: 2, price: null },
      ],
    );
    expect(query('SELECT asked, domain, rows, reasoning_tokens AS thought, usd FROM domain_costs ORDER BY 2')).toEqual([
      { asked: 'world_model', domain: 'mcp', rows: 2, thought: null, usd: 0.15 },
      { asked: 'world_model', domain: 'os', rows: 1, thought: 5, usd: 0.1 },
    ]);
  });

  it('stores the scores by domain and overall, each with its interval if it has one', () => {
    save(runOf('a'));
    expect(query('SELECT kind, dimension, value, n, low FROM domain_scores ORDER BY kind, dimension')).toEqual([
      { kind: 'measure', dimension: 'chrf', value: 60, n: 2, low: 47.3 },
      { kind: 'official', dimension: 'format', value: 60, n: 2, low: 47.3 },
      { kind: 'official', dimension: 'total', value: 70, n: 1, low: null },
      { kind: 'with_failures', dimension: 'total', value: 70, n: 1, low: null },
    ]);
    expect(query('SELECT kind, value FROM overall_scores ORDER BY kind')).toEqual([
      { kind: 'measure', value: 60 },
      { kind: 'micro', value: 60 },
      { kind: 'official', value: 70 },
      { kind: 'with_failures', value: 70 },
    ]);
    expect(query("SELECT chosen, failures ->> '$.not-judged' AS missing FROM domain_counts")).toEqual([
      { chosen: 3, missing: 1 },
    ]);
  });

  it('is replaced by a run with the same identity, keeps its id, and is duplicated in no table', () => {
    const first = save(runOf('a', 'before'));
    const other = save(runOf('b'));
    const counts = countsByTable();
    const again = save(runOf('a', 'after'));
    expect(again).toEqual({ id: first.id, replaced: true });
    expect(other.replaced).toBe(false);
    expect(countsByTable()).toEqual(counts);
    expect(query('SELECT id, label FROM runs ORDER BY id')).toEqual([
      { id: first.id, label: 'after' },
      { id: other.id, label: 'step-1' },
    ]);
  });

  it('stays complete if replacing it fails in the middle', () => {
    save(runOf('a', 'before'));
    const counts = countsByTable();
    expect(() => save(runOf('a', 'after'), [rated, failed, rated])).toThrow(/UNIQUE/);
    expect(countsByTable()).toEqual(counts);
    expect(query('SELECT label FROM runs')).toEqual([{ label: 'before' }]);
  });

  it('stays complete if the process that replaces it is killed in the middle', async () => {
    save(runOf('a', 'before'));
    const counts = countsByTable();
    const script = await compiled.script(
      'killed.js',
      `import { openStore } from './store/store.js';
       const [path, run, rows, card] = process.argv.slice(2).map((text, index) => index === 0 ? text : JSON.parse(text));
       Object.defineProperty(rows[1], 'row', { get: () => process.kill(process.pid, 'SIGKILL') });
       openStore(path).saveRun(run, rows, card);`,
    );
    const args = [{ ...runOf('a', 'after'), costs: {} }, [rated, failed], card].map((value) => JSON.stringify(value));
    const ended = promisify(execFile)(process.execPath, [script, path, ...args]);
    await expect(ended).rejects.toMatchObject({ signal: 'SIGKILL' });
    expect(countsByTable()).toEqual(counts);
    expect(query('SELECT label FROM runs')).toEqual([{ label: 'before' }]);
    expect(save(runOf('a', 'later')).replaced).toBe(true);
  });
});
