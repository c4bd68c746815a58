// The rows under scenarios in a judged file, their figures, and the report at the end of asking.

import { readJudged } from '../../benchmark/judged.js';
import type { JsonObject } from '../../core/json.js';
import { type ScenarioRow, scenarioIn } from '../../core/scenario-row.js';
import { lookOf, terminal } from '../../core/terminal.js';
import type { Io, JudgedRow } from '../../core/types.js';
import { scenarioDomainTable } from '../../report/score-table.js';
import { scenarioFigures } from '../../stats/scenarios.js';

/** Collects the rows under scenarios as they are read, and computes their figures. */
export function scenarioRows() {
  const rows: ScenarioRow[] = [];
  return {
    take(row: JudgedRow, fields: JsonObject): void {
      const scenario = scenarioIn(fields);
      if (scenario !== undefined) rows.push({ ...row, scenario });
    },
    /** Undefined if no row is under a scenario, as in other judged files. */
    figures: () => (rows.length === 0 ? undefined : scenarioFigures(rows)),
  };
}

/**
 * Prints the figures by domain: as a table, or as JSON with the result of asking.
 * @param file path of scenarios.jsonl; undefined if there is nothing to report yet
 * @throws UserError: 66 and 65 for the file
 */
export async function tellScenarios(
  file: string | undefined,
  asking: object,
  settings: { readonly json: boolean; readonly color: boolean },
  io: Io,
): Promise<void> {
  const rows = scenarioRows();
  if (file !== undefined) await readJudged(file, io.stop, rows.take);
  const figures = rows.figures();
  if (settings.json) {
    io.stdout.write(`${JSON.stringify({ ...(figures ?? scenarioFigures([])), asking })}\n`);
  } else if (figures !== undefined) {
    io.stdout.write(`\n${terminal(scenarioDomainTable(figures), lookOf(settings, io))}`);
  }
}
