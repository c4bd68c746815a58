// A suite of scenarios as a table, and as JSON.

import { domainName } from '../../core/domains.js';
import { counted } from '../../core/figures.js';
import { oneLine } from '../../core/printable.js';
import { NONE, type Table } from '../../core/table.js';
import type { Scenario, ScenarioSuite } from './scenario.js';

/** Rows that scenarios are fit for, by name; undefined without data. */
type Fit = ReadonlyMap<string, number> | undefined;

const NAME_COLUMNS = 32;

/** A row for each scenario. A scenario at a start of its own needs no row. */
export function listTable({ name, fingerprint, scenarios }: ScenarioSuite, rows: Fit): Table {
  return {
    columns: [
      { heading: 'Scenario', short: 'Scenario', align: 'left' },
      { heading: 'Domains', short: 'Domains', align: 'left' },
      { heading: 'Put', short: 'Put', align: 'left' },
      { heading: 'Steps', short: 'Steps', align: 'right' },
      { heading: 'Rows', short: 'Rows', align: 'right' },
      { heading: 'Verifiers', short: 'Verifiers', align: 'left' },
    ],
    groups: [
      scenarios.map((scenario) => [
        oneLine(scenario.name, NAME_COLUMNS),
        scenario.domains.map(domainName).join(' '),
        scenario.put,
        String(scenario.steps.length),
        rowsCell(scenario, rows),
        verifiersOf(scenario).join(' '),
      ]),
    ],
    footnotes: [
      `${oneLine(name, 40)}: ${counted(scenarios.length, 'scenario')}, fingerprint ${fingerprint.slice(0, 12)}.${rows === undefined ? ' Without --data-dir nobody knows how many rows each is fit for.' : ' Rows: those of the data that it is fit for; start: it brings a start of its own.'}`,
    ],
  };
}

function rowsCell({ at, name }: Scenario, rows: Fit): string {
  if ('start' in at) return 'start';
  return rows === undefined ? NONE : String(rows.get(name) ?? 0);
}

export function listDocument({ name, fingerprint, scenarios }: ScenarioSuite, rows: Fit) {
  return {
    schema: 'awb.scenario-suite/1',
    name,
    fingerprint,
    scenarios: scenarios.map((scenario) => ({
      name: scenario.name,
      about: scenario.about,
      domains: scenario.domains,
      put: scenario.put,
      instruction: scenario.instruction,
      steps: scenario.steps.length,
      verifiers: verifiersOf(scenario),
      own_start: 'start' in scenario.at,
      rows: 'start' in scenario.at ? null : ((rows && (rows.get(scenario.name) ?? 0)) ?? null),
    })),
  };
}

/** The kinds of a scenario's verifiers, each once, and `never` where something must not be said. */
function verifiersOf({ steps, never }: Scenario): string[] {
  const kinds = steps.flatMap(({ verify }) => verify.map(({ kind }) => kind));
  return [...new Set<string>(kinds), ...(never.phrases.length > 0 || never.words > 0 ? ['never'] : [])];
}
