// The rows under scenarios in a judged file, and what they come to.

import type { JsonObject } from '../../json.js';
import { type ScenarioFigures, type ScenarioRow, scenarioIn } from '../../scenario-row.js';
import { scenarioFigures } from '../../score/scenarios.js';
import type { JudgedRow } from '../../types.js';

/** Takes rows as they are read, and tells what those under scenarios come to. */
interface ScenarioRows {
  take(row: JudgedRow, fields: JsonObject): void;
  /** Undefined where no row is under a scenario, as in any other judged file. */
  figures(): ScenarioFigures | undefined;
}

export function scenarioRows(): ScenarioRows {
  const rows: ScenarioRow[] = [];
  return {
    take(row, fields) {
      const scenario = scenarioIn(fields);
      if (scenario !== undefined) rows.push({ ...row, scenario });
    },
    figures: () => (rows.length === 0 ? undefined : scenarioFigures(rows)),
  };
}
