// Which rows a run took, as the settings in its manifest tell; and which those of several parts are together.

import { z } from 'zod';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { chooseRows, inInputOrder } from '../../benchmark/selection.js';
import { canonicalJson } from '../../core/json.js';
import { rowId } from '../../core/row-id.js';
import { choiceOf } from '../../infer/chosen-rows.js';
import type { Manifest } from '../../run/manifest.js';

const TEXTS = z.array(z.string()).catch([]);
const COUNT = z.int().optional().catch(undefined);
const FLAG = z.boolean().catch(false);

/** What is read of a run's settings. What somebody took out stands at its default. */
const SETTINGS = z.object({
  domains: TEXTS,
  ids: TEXTS,
  limit: COUNT,
  sample: COUNT,
  'sample-seed': z.int().catch(0),
  shard: z.string().optional().catch(undefined),
  repeats: z.int().catch(1),
  lean: FLAG,
  'skip-invalid': FLAG,
  'judge-repeats': z.int().catch(1),
  'judge-sees': z.enum(['history', 'rollout']).catch('history'),
});

export type PartSettings = z.infer<typeof SETTINGS>;

export function settingsIn({ settings }: Pick<Manifest, 'settings'>): PartSettings {
  return SETTINGS.parse(settings);
}

/** The rows that the parts took, or would have taken without --shard, in input order. @throws UserError as `chooseRows` */
export function wholeChoice(dataset: Dataset, parts: readonly PartSettings[]): RowRef[] {
  return inInputOrder(new Set(choicesOf(parts).flatMap((part) => rowsOf(dataset, part))));
}

/** A shard that no part is, and how many of its rows are missing. */
export interface MissingShard {
  readonly shard: string;
  readonly rows: number;
}

/** To tell whose rows are missing, each shard is dealt out once. */
const MOST_SHARDS = 1000;

/**
 * The shards that nobody has run, where all parts are shards of one choice; empty elsewhere.
 * @param there the shards that there are
 * @param lacks whether the row of an id is missing
 */
export function missingShards(
  dataset: Dataset,
  parts: readonly PartSettings[],
  there: readonly (string | undefined)[],
  lacks: (id: string) => boolean,
): MissingShard[] {
  const [choice, ...otherChoices] = choicesOf(parts);
  const [count, ...otherCounts] = new Set(there.map((shard) => shard?.split('/')[1]));
  if (choice === undefined || otherChoices.length > 0 || count === undefined || otherCounts.length > 0) return [];
  if (Number(count) > MOST_SHARDS) return [];
  const repeats = Array.from({ length: mostOf(parts).repeats }, (_, repeat) => repeat);
  return Array.from({ length: Number(count) }, (_, index) => `${index + 1}/${count}`)
    .filter((shard) => !there.includes(shard))
    .map((shard) => {
      const ids = rowsIn(dataset, { ...choice, shard }).flatMap(({ key }) => repeats.map((at) => rowId(key, at)));
      return { shard, rows: ids.filter(lacks).length };
    })
    .filter(({ rows }) => rows > 0);
}

/** The parts' choices without their shards, each once. */
function choicesOf(parts: readonly PartSettings[]): PartSettings[] {
  const choices = parts.map((part) => {
    const { domains, ids, limit, sample, 'sample-seed': seed } = part;
    return [canonicalJson([domains, ids, limit, sample, seed]), { ...part, shard: undefined }] as const;
  });
  return [...new Map(choices).values()];
}

function rowsOf(dataset: Dataset, part: PartSettings): readonly RowRef[] {
  const { shard, 'sample-seed': sampleSeed } = part;
  return chooseRows(dataset.rows, choiceOf({ ...part, shard, sampleSeed }, dataset));
}

/** The same; none for a shard beyond the number of trajectories. */
function rowsIn(dataset: Dataset, part: PartSettings): readonly RowRef[] {
  try {
    return rowsOf(dataset, part);
  } catch {
    return [];
  }
}

/** The settings of a whole whose parts have these: as many repeats as any, and lean where all are. */
export function mostOf(parts: readonly PartSettings[]) {
  return {
    domains: parts.some(({ domains }) => domains.length === 0)
      ? []
      : [...new Set(parts.flatMap(({ domains }) => domains))],
    repeats: Math.max(...parts.map(({ repeats }) => repeats)),
    judgeRepeats: Math.max(...parts.map((part) => part['judge-repeats'])),
    lean: parts.every(({ lean }) => lean),
    skipInvalid: parts.some((part) => part['skip-invalid']),
    judgeSees: parts.some((part) => part['judge-sees'] === 'rollout') ? ('rollout' as const) : ('history' as const),
  };
}
