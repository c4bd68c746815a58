// Figures of scenarios in the SQLite file.

import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../support/cli.js';
import { queryIn, runOf, saveIn } from '../support/stored-runs.js';

let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

it('a run on scenarios has a row for each figure of each scenario, over all domains and in each', () => {
  const { id } = saveIn(path, runOf('a'));
  const known = { value: 70, n: 40, clusters: 20, se: 7.25, df: 18.5, low: 53.5, high: 82.5 };
  const unknown = { se: null, df: null, low: null, high: null };
  expect(queryIn(path, 'SELECT * FROM scenario_figures ORDER BY scenario, domain, figure')).toEqual([
    { run_id: id, scenario: 'power-cut', domain: '', figure: 'followed', ...known },
    { run_id: id, scenario: 'power-cut', domain: '', figure: 'leaked', value: 0, n: 4, clusters: 4, ...unknown },
    { run_id: id, scenario: 'power-cut', domain: 'mcp', figure: 'followed', ...known },
    { run_id: id, scenario: 'slow-disk', domain: '', figure: 'followed', ...known },
  ]);
});

it('a run that is stored again has only the new figures, and one without scenarios has none', () => {
  saveIn(path, runOf('a'));
  saveIn(path, { ...runOf('a'), scenarios: undefined });
  expect(queryIn(path, 'SELECT count(*) AS n FROM scenario_figures')).toEqual([{ n: 0 }]);
});
