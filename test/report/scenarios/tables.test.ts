// Tables of runs on scenarios: what they show for little data, and in 80 columns.

import { describe, expect, it } from 'vitest';
import { terminal } from '../../../src/core/terminal.js';
import { scenarioDomainTable, scenarioTable } from '../../../src/report/score-table.js';
import type { ScenarioFigures } from '../../../src/stats/scenarios.js';

const wide = { value: 99.94, rows: 9999, clusters: 20, se: 7.25, df: 18.5, low: 84.2, high: 99.96 };
const bare = { ...wide, value: 50, rows: 4, clusters: 4, low: null, high: null };
const none = { followed: null, leaked: null, undisturbed: null, twin_false_positives: null };
const figures = { followed: wide, leaked: wide, undisturbed: wide, twin_false_positives: wide };
const part = { samples: 9999, trajectories: 20, failures: {}, ...figures };
const name = 'harrow-quay-school-textbook-and-more';
const made: ScenarioFigures = {
  schema: 'awb.scenarios/1',
  overall: part,
  domains: { terminal: part, web: { ...part, ...none, followed: bare } },
  scenarios: { [name]: { ...part, domains: {} }, 'evil\u001b[31m\u202e': { ...part, ...none, domains: {} } },
};
const look = { columns: 80, color: false };

describe('the tables of a run on scenarios', () => {
  it('stay one table in 80 columns, however wide the figures are', () => {
    for (const table of [scenarioDomainTable(made), scenarioTable(made)]) {
      const lines = terminal(table, look).split('\n');
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
      expect(lines.filter((line) => /^(?:Domain|Scenario) /.test(line))).toHaveLength(1);
    }
  });

  it('show a figure without its interval if that is absent, say why, and show nothing if there is no figure', () => {
    const text = terminal(scenarioDomainTable(made), look);
    expect(text).toMatch(/^Web +9999 +50\.0 +- +- +- +- +- +-$/m);
    expect(scenarioDomainTable(made).legend?.join()).toContain('No interval: fewer than 5 trajectories');
    expect(text).toMatch(/^macro of 2 +9999 +99\.9 +84–100 /m);
  });

  it('shorten long names, and show none that could control a terminal', () => {
    const text = terminal(scenarioTable(made), look);
    expect(text).toContain('harrow-quay-school-textbook…');
    expect(text).toMatch(/^evil +9999 +- /m);
  });
});
