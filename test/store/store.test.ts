// The SQLite file: what is in it, that a run is never doubled or half replaced, and what it refuses.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../src/errors.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import type { RunRecord, StoredJudgement } from '../../src/store/records.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { openExistingStore, openStore } from '../../src/store/store.js';
import type { DomainScore, Estimate, ScoreCard } from '../../src/types.js';
import { type Compiled, compileStore } from './compiled.js';

const TABLES = ['domain_counts', 'domain_scores', 'judgements', 'measures', 'overall_scores', 'runs'];

let dir: string;
let path: string;
let compiled: Compiled;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'awb-store-'));
  compiled = await compileStore();
});
afterAll(async () => {
  rmSync(dir, { recursive: true });
  await compiled.remove();
});
beforeEach(() => {
  path = join(mkdtempSync(join(dir, 'case-')), 'awb.sqlite');
});

function runOf(identity: string, label = 'step-1'): RunRecord {
  return {
    identity,
    label,
    kind: 'rubric',
    source: '/out/judged.jsonl',
    sourceSha256: 'ab',
    worldModel: 'world',
    judgeModel: 'judge',
    meta: { step: '1' },
    manifest: '{"schema": 1}',
    scoredAt: '2026-01-01T00:00:00.000Z',
    toolVersion: '0.1.0',
  };
}

const rated: StoredJudgement = {
  row: {
    key: 'k1',
    trajectory: 't1',
    repeat: 0,
    index: 0,
    domain: 'mcp',
    turnIdx: 2,
    failed: 0,
    total: 3.8,
    ratings: { format: 5, factuality: 4, consistency: 4, realism: 3, quality: 3 },
    measures: { chrf: 61.25, exact_match: 0 },
    flags: ['truncated'],
  },
  log: { attempts: 2, usage: { promptTokens: 19_000, completionTokens: 280 }, ms: 4200.5, host: 'judge:443' },
};

const failed: StoredJudgement = {
  row: {
    key: 'k1',
    trajectory: 't1',
    repeat: 1,
    index: 0,
    domain: 'mcp',
    turnIdx: 2,
    failed: 1,
    total: 0,
    ratings: {},
    failure: { class: 'judge-timeout', reason: 'no token for 900 s' },
    flags: [],
  },
};

const estimate: Estimate = { value: 70, rows: 1, clusters: 1 };
const certain: Estimate = { value: 60, rows: 2, clusters: 2, se: 1, df: 1, low: 47.3, high: 72.7 };

const card: ScoreCard = {
  domains: [
    {
      domain: 'mcp',
      chosen: 3,
      valid: 1,
      failed: 1,
      failures: { 'judge-timeout': 1, 'not-judged': 1 },
      coverage: 1 / 3,
      scores: { total: estimate, format: certain },
      withFailures: { total: estimate },
      measures: { chrf: certain },
      flags: { truncated: 1 },
    },
  ],
  overall: { total: estimate },
  macroOf: 1,
  overallMicro: { total: certain },
  overallWithFailures: { total: estimate },
  overallMeasures: { chrf: certain },
  chosen: 3,
  valid: 1,
  failed: 1,
  coverage: 1 / 3,
};

function save(run: RunRecord, judgements: readonly StoredJudgement[] = [rated, failed]) {
  const store = openStore(path);
  try {
    return store.saveRun(run, judgements, card);
  } finally {
    store.close();
  }
}

function query(sql: string): unknown[] {
  const database = openSqlite(path, { readonly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

const countsByTable = () =>
  Object.fromEntries(
    TABLES.map((table) => [table, (query(`SELECT count(*) AS n FROM ${table}`)[0] as { n: number }).n]),
  );

describe('a new file', () => {
  it('has the newest schema, all tables strict, and a write-ahead log', () => {
    openStore(path).close();
    expect(query('PRAGMA user_version')).toEqual([{ user_version: MIGRATIONS.length }]);
    expect(query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    const tables = query("SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%' ORDER BY name");
    expect(tables).toEqual(TABLES.map((name) => ({ name, strict: 1 })));
  });

  it('is made once when several processes open it together, and takes the runs of all', async () => {
    const script = await compiled.script(
      'together.js',
      `import { openStore } from './store/store.js';
       const [path, run, card] = process.argv.slice(2).map((text, index) => index === 0 ? text : JSON.parse(text));
       const store = openStore(path, 20000);
       store.saveRun({ ...run, identity: String(process.pid) }, [], card);
       store.close();`,
    );
    const args = [script, path, JSON.stringify(runOf('')), JSON.stringify(card)];
    await Promise.all(Array.from({ length: 6 }, () => promisify(execFile)(process.execPath, args)));
    expect(countsByTable()).toMatchObject({ runs: 6, domain_counts: 6 });
  });
});

describe('a stored run', () => {
  it('holds the judgements with ratings, failures, flags, attempts, tokens and measures', () => {
    const { id } = save(runOf('a'));
    const rows = query('SELECT * FROM judgements ORDER BY repeat');
    expect(rows).toEqual([
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
      },
      expect.objectContaining({
        status: 'failed',
        failure_class: 'judge-timeout',
        failure_reason: 'no token for 900 s',
        factuality: null,
        attempts: null,
      }),
    ]);
    expect(query('SELECT name, value FROM measures ORDER BY name')).toEqual([
      { name: 'chrf', value: 61.25 },
      { name: 'exact_match', value: 0 },
    ]);
  });

  it('holds the scores by domain and over all, each with its interval where there is one', () => {
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

  it('is replaced by a run of the same identity, keeps its id, and is doubled in no table', () => {
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

  it('stays whole when replacing it fails in the middle', () => {
    save(runOf('a', 'before'));
    const counts = countsByTable();
    expect(() => save(runOf('a', 'after'), [rated, failed, rated])).toThrow(/UNIQUE/);
    expect(countsByTable()).toEqual(counts);
    expect(query('SELECT label FROM runs')).toEqual([{ label: 'before' }]);
  });

  it('stays whole when the process that replaces it is killed in the middle', async () => {
    save(runOf('a', 'before'));
    const counts = countsByTable();
    const script = await compiled.script(
      'killed.js',
      `import { openStore } from './store/store.js';
       const [path, run, rows, card] = process.argv.slice(2).map((text, index) => index === 0 ? text : JSON.parse(text));
       Object.defineProperty(rows[1], 'row', { get: () => process.kill(process.pid, 'SIGKILL') });
       openStore(path).saveRun(run, rows, card);`,
    );
    const args = [runOf('a', 'after'), [rated, failed], card].map((value) => JSON.stringify(value));
    const ended = promisify(execFile)(process.execPath, [script, path, ...args]);
    await expect(ended).rejects.toMatchObject({ signal: 'SIGKILL' });
    expect(countsByTable()).toEqual(counts);
    expect(query('SELECT label FROM runs')).toEqual([{ label: 'before' }]);
    expect(save(runOf('a', 'later')).replaced).toBe(true);
  });
});

describe('reading', () => {
  function reading<T>(read: (store: ReturnType<typeof openExistingStore>) => T): T {
    const store = openExistingStore(path);
    try {
      return read(store);
    } finally {
      store.close();
    }
  }

  it('gives every run back as it was saved, its scores included', () => {
    const bare: RunRecord = { ...runOf('b'), label: undefined, judgeModel: undefined, manifest: undefined };
    save(runOf('a'));
    save(bare);
    const [first, second, ...more] = reading((store) => store.runs());
    expect(more).toEqual([]);
    expect(first).toEqual({ ...runOf('a'), id: 1, card });
    expect(second).toEqual({ ...bare, id: 2, card });
  });

  it('gives the domains in the published order, others after them by name', () => {
    const [score] = card.domains;
    const names = ['os', 'zebra', 'mcp', 'aviary', 'search'];
    const store = openStore(path);
    store.saveRun(runOf('a'), [], { ...card, domains: names.map((domain) => ({ ...score, domain }) as DomainScore) });
    const read = store.runs()[0]?.card.domains.map(({ domain }) => domain);
    store.close();
    expect(read).toEqual(['mcp', 'search', 'os', 'aviary', 'zebra']);
  });

  it('gives the judged rows of one run back as they were saved', () => {
    const measured = { ...rated.row, key: 'k0', ratings: {}, total: 0, flags: [] };
    const { failed: _failed, ...unrated } = measured;
    save(runOf('a'), [rated, failed, { row: unrated }]);
    save(runOf('b'), [failed]);
    const of = (id: number) => reading((store) => store.judgements(id));
    expect(of(1)).toEqual([unrated, rated.row, failed.row]);
    expect(of(2)).toEqual([failed.row]);
    expect(of(3)).toEqual([]);
  });

  it('gives the judgements of one prediction back apart, each with its measures', () => {
    const again = [0, 1, 2].map((index) => ({ ...rated.row, index, total: index + 1, measures: { chrf: index } }));
    save(
      runOf('a'),
      again.map((row) => ({ row })),
    );
    expect(reading((store) => store.judgements(1))).toEqual(again);
  });

  it('gives many thousands of rows back in their order, each with its measures', () => {
    const rows = Array.from({ length: 9000 }, (_, index) => ({
      ...rated.row,
      key: `k${String(Math.floor(index / 3)).padStart(5, '0')}`,
      repeat: index % 3,
      index: 0,
      measures: { chrf: index, exact_match: index % 2 },
    }));
    save(
      runOf('a'),
      [...rows].reverse().map((row) => ({ row })),
    );
    expect(reading((store) => store.judgements(1))).toEqual(rows);
  });

  it('needs a file that is there, and makes none', () => {
    const error = refusal(() => openExistingStore(path));
    expect(error).toMatchObject({ exitCode: EXIT.inputMissing, message: expect.stringContaining('awb score') });
    expect(existsSync(path)).toBe(false);
  });

  it('leaves a file of a later version alone', () => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    database.close();
    expect(refusal(() => openExistingStore(path))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('a later awb wrote it'),
    });
  });
});

describe('reading changes nothing on the disk', () => {
  const runsIn = (file: string) => {
    const store = openExistingStore(file, 50);
    try {
      return store.runs().map(({ label }) => label);
    } finally {
      store.close();
    }
  };
  const filesIn = (folder: string) =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));

  it('in the newest schema', () => {
    save(runOf('a'));
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual(['step-1']);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  it('in an earlier one, which is brought up to date in memory', () => {
    openStore(path).close();
    const database = openSqlite(path);
    for (const table of ['measures', 'judgements', 'domain_scores', 'overall_scores', 'domain_counts', 'runs']) {
      database.exec(`DROP TABLE ${table}`);
    }
    database.exec('PRAGMA user_version = 0');
    database.close();
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual([]);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  it('where another process is writing, and sees what stood before', () => {
    save(runOf('a'));
    const other = openSqlite(path);
    other.exec('BEGIN IMMEDIATE');
    other.exec("UPDATE runs SET label = 'later'");
    try {
      expect(runsIn(path)).toEqual(['step-1']);
      other.exec('COMMIT');
      expect(runsIn(path)).toEqual(['later']);
    } finally {
      other.close();
    }
  });

  it('where it has a rollback journal', () => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec('PRAGMA journal_mode = delete');
    database.close();
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual(['step-1']);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  // The superuser may write anywhere, so a process reads that gives its rights up once it is loaded: the checkout itself may be
  // closed to other users. Only the superuser's can.
  describe.runIf(process.getuid?.() === 0)('by a user who may not write there', () => {
    const asNobody = async (): Promise<unknown> => {
      const script = await compiled.script(
        'read.js',
        `import { openSqlite } from './store/sqlite.js';
         import { openExistingStore } from './store/store.js';
         openSqlite(':memory:').close();
         process.setgroups([]);
         process.setgid(65534);
         process.setuid(65534);
         try {
           console.log(JSON.stringify(openExistingStore(process.argv[2]).runs().map(({ label }) => label)));
         } catch (error) {
           console.log(JSON.stringify(error.message));
         }`,
      );
      chmodSync(dir, 0o755);
      chmodSync(dirname(path), 0o555);
      const { stdout } = await promisify(execFile)(process.execPath, [script, path], { cwd: '/' });
      return JSON.parse(stdout);
    };

    it('with a write-ahead log that is empty', async () => {
      save(runOf('a'));
      expect(await asNobody()).toEqual(['step-1']);
    });

    it('with one that a killed writer left', async () => {
      save(runOf('a'));
      const database = openSqlite(path);
      database.exec("UPDATE runs SET label = 'in the log'");
      const kept = readdirSync(dirname(path)).map((name) => [name, readFileSync(join(dirname(path), name))] as const);
      database.close();
      for (const [name, bytes] of kept) writeFileSync(join(dirname(path), name), bytes);
      expect(await asNobody()).toEqual(['in the log']);
    });

    it('with one whose index is lost, which is refused', async () => {
      save(runOf('a'));
      const database = openSqlite(path);
      database.exec("UPDATE runs SET label = 'in the log'");
      const [main, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
      database.close();
      writeFileSync(path, main);
      writeFileSync(`${path}-wal`, log);
      expect(await asNobody()).toMatch(/some of its rows stand in .*awb\.sqlite-wal alone/);
    });
  });
});

function refusal(action: () => unknown): UserError {
  try {
    action();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a file that cannot be used', () => {
  it('from a later version is refused with both versions, and left alone', () => {
    openStore(path).close();
    const database = openSqlite(path);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length + 6}`);
    database.close();
    const before = readFileSync(path);
    const error = refusal(() => openStore(path));
    expect(error.exitCode).toBe(EXIT.badData);
    expect(error.message).toContain(`version ${MIGRATIONS.length + 6}`);
    expect(error.message).toContain(`knows ${MIGRATIONS.length}`);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('of another program is refused, and left alone', () => {
    const database = openSqlite(path);
    database.exec('CREATE TABLE customers (id)');
    database.close();
    const before = readFileSync(path);
    const error = refusal(() => openStore(path));
    expect(error).toMatchObject({ exitCode: EXIT.badData, message: expect.stringContaining('another program') });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('that is no database is refused, and left alone', () => {
    writeFileSync(path, '{"task": "mcp"}\n'.repeat(100));
    expect(refusal(() => openStore(path))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('not a SQLite database'),
    });
    expect(readFileSync(path, 'utf8')).toBe('{"task": "mcp"}\n'.repeat(100));
  });

  it('that is a FIFO is refused, and not waited for', () => {
    execFileSync('mkfifo', [path]);
    for (const open of [openStore, openExistingStore]) {
      expect(refusal(() => open(path))).toMatchObject({ exitCode: EXIT.badData });
    }
  });

  it('that is damaged says that scoring again restores it', () => {
    save(runOf('a'));
    const bytes = readFileSync(path);
    bytes.fill(0xee, 4096);
    writeFileSync(path, bytes);
    expect(refusal(() => save(runOf('a')))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('score again'),
    });
  });

  it('that another process keeps locked is given up after the time allowed', () => {
    openStore(path).close();
    const other = openSqlite(path);
    other.exec('BEGIN IMMEDIATE');
    const error = refusal(() => openStore(path, 50));
    other.close();
    expect(error).toMatchObject({ exitCode: EXIT.cannotWrite, message: expect.stringContaining('locked for 0.05 s') });
  });

  // Where there is no device that is always full (macOS, Windows), nothing plays a full disk.
  it.runIf(existsSync('/dev/full'))('on a full disk says so', () => {
    expect(refusal(() => openStore('/dev/full'))).toMatchObject({
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining('disk is full'),
    });
  });

  it.each([
    ['in a folder that does not exist', 'none/awb.sqlite', /folder does not exist/],
    ['that is a folder', '.', /cannot be written/],
  ])('%s is refused with its path', (_name, place, message) => {
    const error = refusal(() => openStore(join(dir, place)));
    expect(error.exitCode).toBe(EXIT.cannotWrite);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(join(dir, place));
  });
});
