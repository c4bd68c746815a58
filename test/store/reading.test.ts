// Runs are read back as they were saved.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { RunRecord, StoredJudgement } from '../../src/store/runs.js';
import { SCHEMA_VERSION } from '../../src/store/schema.js';
import { openExistingStore, openStore } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { card, failed, rated, refusal, runOf, saveIn } from '../support/stored-runs.js';

let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

const save = (run: RunRecord, judgements?: readonly StoredJudgement[]) => saveIn(path, run, judgements);

describe('reading', () => {
  function reading<T>(read: (store: ReturnType<typeof openExistingStore>) => T): T {
    const store = openExistingStore(path);
    try {
      return read(store);
    } finally {
      store.close();
    }
  }

  it('returns every run as it was saved, including its scores', () => {
    const bare: RunRecord = {
      ...runOf('b'),
      label: undefined,
      judgeModel: undefined,
      manifest: undefined,
      costs: {},
    };
    save(runOf('a'));
    save(bare);
    const [first, second, ...more] = reading((store) => store.runs());
    expect(more).toEqual([]);
    // Figures of scenarios are only for queries.
    expect(first).toEqual({ ...runOf('a'), scenarios: undefined, id: 1, card });
    expect(second).toEqual({ ...bare, scenarios: undefined, id: 2, card });
  });

  it('returns the judged rows of one run as they were saved', () => {
    const measured = { ...rated.row, key: 'k0', ratings: {}, total: 0, flags: [] };
    const { failed: _failed, ...unrated } = measured;
    save(runOf('a'), [rated, failed, { row: unrated }]);
    save(runOf('b'), [failed]);
    const of = (id: number) => reading((store) => store.judgements(id));
    expect(of(1)).toEqual([unrated, rated.row, failed.row]);
    expect(of(2)).toEqual([failed.row]);
    expect(of(3)).toEqual([]);
  });

  it('returns excerpts, and the costs of rows, by record id', () => {
    const place = { offset: 3, length: 190_000, checksum: 4_000_000_000 };
    const excerpt = { ...place, note: 'The path is wrong.', unmet: ['exit code 1'], determined: 3, chars: 180_000 };
    save(runOf('a'), [{ ...rated, excerpt }, { ...failed, excerpt: place }, { row: { ...rated.row, index: 1 } }]);
    save(runOf('b'), [failed]);
    const excerpts = (id: number) => reading((store) => [...store.excerpts(id)]);
    expect(excerpts(1)).toEqual([
      ['k1#0', excerpt],
      ['k1#1', place],
    ]);
    expect(excerpts(2)).toEqual([]);
    const spent = reading((store) => store.spent(1));
    expect([...spent.keys()]).toEqual(['k1#0', 'k1#0#1', 'k1#1']);
    expect(spent.get('k1#0')).toEqual({
      prediction: { log: { usage: rated.prediction?.log?.usage }, usd: 0.15, ms: 99.5 },
      judgement: { log: { usage: rated.log?.usage }, usd: 0.0375, ms: 4200.5 },
    });
    const nothing = { log: { usage: {} } };
    expect(spent.get('k1#1')).toEqual({ prediction: nothing, judgement: nothing });
  });

  it('returns measures by name, in whatever order they were saved', () => {
    const measures = { exact_match: 0, chrf: 1 };
    const estimate = { value: 0, rows: 1, clusters: 1 };
    const store = openStore(path);
    const overallMeasures = { exact_match: estimate, chrf: estimate };
    store.saveRun(runOf('a'), [{ row: { ...rated.row, measures } }], { ...card, overallMeasures });
    store.close();
    const [row] = reading((store) => store.judgements(1));
    const [run] = reading((store) => store.runs());
    for (const found of [row?.measures, run?.card.overallMeasures]) {
      expect(Object.keys(found ?? {})).toEqual(['chrf', 'exact_match']);
    }
  });

  it('returns the judgements of one prediction separately, each with its measures', () => {
    const again = [0, 1, 2].map((index) => ({ ...rated.row, index, total: index + 1, measures: { chrf: index } }));
    save(
      runOf('a'),
      again.map((row) => ({ row })),
    );
    expect(reading((store) => store.judgements(1))).toEqual(again);
  });

  it('returns many thousands of rows in order, each with its measures', () => {
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

  it.each([
    ['card', `json_remove(card, '$.domains')`],
    ['card', `'[]'`],
    ['card', `json_set(card, '$.domains', json('{}'))`],
    ['card', `json_set(card, '$.domains[0]', 1)`],
    ['card', `json_set(card, '$.overall', json('[]'))`],
    ['costs', `json_set(costs, '$.judge', 1)`],
    ['costs', `json_set(costs, '$.judge.domains', json('[]'))`],
    ['costs', `json_set(costs, '$.world_model.domains.mcp', 1)`],
    ['costs', `json_remove(costs, '$.judge.total')`],
    ['equivalence', `json_set(equivalence, '$.domains', json('{}'))`],
    ['equivalence', `json_remove(equivalence, '$.overall')`],
    ['meta', `'1'`],
  ])('refuses a %s with %s', (column, damage) => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec(`UPDATE runs SET ${column} = ${damage}`);
    database.close();
    expect(refusal(() => reading((store) => store.runs()))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining(`column ${column}`),
    });
  });

  it.each(['ratings', 'flags'])('refuses a judged row without %s', (name) => {
    for (const damage of [`json_remove(row, '$.${name}')`, `json_set(row, '$.${name}', 'x')`]) {
      save(runOf('a'), [rated]);
      const database = openSqlite(path);
      database.exec(`UPDATE judgements SET row = ${damage}`);
      database.close();
      expect(refusal(() => reading((store) => store.judgements(1)))).toMatchObject({
        exitCode: EXIT.badData,
        message: expect.stringContaining('column row'),
      });
    }
  });

  it('says where an excerpt is damaged', () => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec(`UPDATE judgements SET excerpt = '{"offset": -1}'`);
    database.close();
    expect(refusal(() => reading((store) => store.excerpts(1)))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('column excerpt'),
    });
  });

  it.each(['$.overall.total.value', '$.domains[0].withFailures.total', '$.domains[0].chosen', '$.overallMeasures'])(
    'says where a score card is damaged: %s',
    (place) => {
      save(runOf('a'));
      const database = openSqlite(path);
      database.exec(`UPDATE runs SET card = json_replace(card, '${place}', 'odd')`);
      database.close();
      expect(refusal(() => reading((store) => store.runs()))).toMatchObject({
        exitCode: EXIT.badData,
        message: expect.stringContaining('column card'),
      });
    },
  );

  it('needs an existing file, and does not create one', () => {
    const error = refusal(() => openExistingStore(path));
    expect(error).toMatchObject({ exitCode: EXIT.inputMissing, message: expect.stringContaining('awb score') });
    expect(existsSync(path)).toBe(false);
  });

  it('leaves a file of a later version unchanged', () => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
    database.close();
    expect(refusal(() => openExistingStore(path))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('a later awb wrote it'),
    });
  });
});
