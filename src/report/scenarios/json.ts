// What a run on scenarios comes to as JSON.

import { keysOf } from '../../keys.js';
import { SCENARIO_MEASURES, type ScenarioFigures, type ScenarioPart } from '../../scenario-row.js';
import { estimateDocument } from '../document.js';

/** The document of `--json`, to which whoever prints it adds what else it knows. Figures are unrounded, and null where there are none. */
export function figuresDocument({ overall, domains, scenarios, cells }: ScenarioFigures) {
  return {
    schema: 'awb.scenarios/1',
    overall: partDocument(overall),
    domains: Object.fromEntries(domains.map((part) => [part.domain, partDocument(part)])),
    scenarios: Object.fromEntries(
      scenarios.map((part) => [
        part.scenario,
        {
          ...partDocument(part),
          domains: Object.fromEntries(
            cells.filter(({ scenario }) => scenario === part.scenario).map((cell) => [cell.domain, partDocument(cell)]),
          ),
        },
      ]),
    ),
  };
}

function partDocument({ samples, trajectories, failures, figures }: ScenarioPart) {
  const measures = keysOf(SCENARIO_MEASURES).map((name) => {
    const { [name]: estimate } = figures;
    return [name, estimate === undefined ? null : estimateDocument(estimate)] as const;
  });
  return { samples, trajectories, failures, ...Object.fromEntries(measures) };
}
