// What a run on scenarios comes to, into its table of the SQLite file.

import type { ScenarioFigures } from '../scenario-row.js';
import { insert } from './row.js';
import type { Sqlite } from './sqlite.js';

const COLUMNS = ['run_id', 'scenario', 'domain', 'figure', 'value', 'n', 'clusters', 'se', 'df', 'low', 'high'];

/** The figures of each scenario, over all domains and in each; those of domains and of the whole run stand with every run's. */
export function saveScenarios(database: Sqlite, runId: number, { scenarios, cells }: ScenarioFigures): void {
  const insertion = insert(database, 'scenario_figures', COLUMNS);
  for (const { scenario = '', domain = '', figures } of [...scenarios, ...cells]) {
    for (const [figure, estimate] of Object.entries(figures)) {
      const { value, rows: n, clusters, se = null, df = null, low = null, high = null } = estimate;
      insertion.run({ run_id: runId, scenario, domain, figure, value, n, clusters, se, df, low, high });
    }
  }
}
