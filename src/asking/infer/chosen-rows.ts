// The chosen rows, opened for whoever puts them to a world model: the data, the prompts, the model and its price.

import { resolve } from 'node:path';
import { type Dataset, openDataset, type RowRef } from '../../bench/dataset.js';
import { chooseRows } from '../../bench/selection.js';
import type { Io } from '../../types.js';
import { openPricing } from '../pricing.js';
import type { Pricing } from '../run.js';
import { openSystemPrompts, type SystemPrompts } from '../system-prompts.js';
import { openTarget, type Target } from '../target.js';
import { requireNamedTokenizer } from '../too-long.js';
import { requireData } from './data-folder.js';
import type { InferSettings } from './options.js';
import { choiceOf, requirePrompts, requireUsable } from './rows.js';
import { takenShard } from './shard.js';

export interface ChosenRows {
  readonly dataset: Dataset;
  /** In input order. */
  readonly chosen: readonly RowRef[];
  /** Which part of what the other flags choose these are, as `I/N`; undefined where they are all of it. */
  readonly shard: string | undefined;
  readonly prompts: SystemPrompts;
  readonly target: Target;
  readonly pricing: Pricing;
}

/**
 * What `ask` makes of them; all is closed behind it.
 * @throws UserError: 66 and 65 for the data, 2 for what the flags choose of them, and what the model's own opening throws
 */
export async function withChosenRows<T>(
  settings: Omit<InferSettings, 'baseline' | 'repeats'>,
  io: Io,
  ask: (rows: ChosenRows) => Promise<T>,
): Promise<T> {
  const shard = takenShard(settings, io);
  await requireNamedTokenizer(settings, io);
  await requireData(settings.dataDir, io);
  const prompts = await openSystemPrompts(settings, io);
  const dataset = await openDataset(resolve(io.cwd, settings.dataDir), io.stop);
  try {
    requireUsable(dataset, settings, io);
    const chosen = chooseRows(dataset.rows, choiceOf({ ...settings, shard }, dataset));
    requirePrompts(prompts, chosen, dataset);
    const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
    const target = await openTarget({ prefix: 'model', baseUrls, model, apiKey }, settings, io);
    try {
      return await ask({ dataset, chosen, shard, prompts, target, pricing: await openPricing(target, settings, io) });
    } finally {
      await target.close();
    }
  } finally {
    await dataset.close();
  }
}
