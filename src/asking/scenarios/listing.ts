// `--list-scenarios`: what a suite holds, and how many rows of the data each of its scenarios is fit for.

import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openDataset } from '../../bench/dataset.js';
import { chooseRows } from '../../bench/selection.js';
import { holdsRows } from '../../hub/dataset-files.js';
import type { ScenarioSuite } from '../../scenario.js';
import type { Io } from '../../types.js';
import { choiceOf, requireData, requireUsable } from '../infer/chosen-rows.js';
import { INFER_OPTIONS, type InferSettings } from '../infer/options.js';
import { takenShard } from '../infer/shard.js';
import { fittingIn } from './fitting.js';
import { openSuite } from './suite.js';

interface ListedSuite {
  readonly suite: ScenarioSuite;
  /** Chosen rows that each scenario is fit for, by its name; undefined without data. */
  readonly rows: ReadonlyMap<string, number> | undefined;
}

/**
 * The suite, held to the chosen rows where there is data: in the folder that the user names, or in the usual one if that holds any.
 * @throws UserError: what opening either throws, 130 or 143 once the user has interrupted
 */
export async function listedSuite(settings: InferSettings, name: string, io: Io): Promise<ListedSuite> {
  const suite = await openSuite(name, settings, io);
  const usual = INFER_OPTIONS['data-dir'].default;
  if (settings.dataDir === usual && !(await hasRows(resolve(io.cwd, usual)))) return { suite, rows: undefined };
  await requireData(settings.dataDir, io);
  const dataset = await openDataset(resolve(io.cwd, settings.dataDir), io.stop);
  try {
    requireUsable(dataset, settings, io);
    const rows = new Map<string, number>();
    const chosen = chooseRows(dataset.rows, choiceOf({ ...settings, shard: takenShard(settings, io) }, dataset));
    const fitting = fittingIn(dataset, suite.scenarios, { quiet: settings.quiet, ofRows: chosen.length }, io);
    for (const row of chosen) {
      for (const { name: found } of await fitting(row)) rows.set(found, (rows.get(found) ?? 0) + 1);
    }
    return { suite, rows };
  } finally {
    await dataset.close();
  }
}

async function hasRows(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.some((name) => holdsRows({ name }));
}
