// What a file of scenarios comes to, told at the end of asking.

import { readJudged } from '../../bench/judged.js';
import { figuresDocument } from '../../report/scenarios/json.js';
import { domainTable } from '../../report/scenarios/tables.js';
import { terminal } from '../../report/terminal.js';
import { scenarioFigures } from '../../score/scenarios.js';
import type { Io } from '../../types.js';
import { scenarioRows } from './scenarios.js';

/**
 * Tells the figures by domain: as a table, or as JSON with what asking came to.
 * @param file path of scenarios.jsonl; undefined where there is nothing to tell of it yet
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
    io.stdout.write(`${JSON.stringify({ ...figuresDocument(figures ?? scenarioFigures([])), asking })}\n`);
  } else if (figures !== undefined) {
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
    io.stdout.write(`\n${terminal(domainTable(figures), look)}`);
  }
}
