// Which rows a run took, as the settings in its manifest tell; and which those of several parts are together.

import type { Dataset, RowRef } from '../../bench/dataset.js';
import { chooseRows, inInputOrder } from '../../bench/selection.js';
import { canonicalJson, isInteger } from '../../json.js';
import type { Manifest } from '../../run/manifest.js';
import { choiceOf } from '../infer/chosen-rows.js';

/** What is read of a run's settings. */
export interface PartSettings {
  readonly domains: readonly string[];
  readonly ids: readonly string[];
  readonly limit: number | undefined;
  readonly sample: number | undefined;
  readonly sampleSeed: number;
  readonly shard: string | undefined;
  readonly repeats: number;
  readonly lean: boolean;
  readonly skipInvalid: boolean;
  readonly judgeRepeats: number;
  readonly judgeSees: 'history' | 'rollout';
}

/** Settings that a manifest lacks, as one of an earlier version may, stand at their defaults. */
export function settingsIn({ settings }: Pick<Manifest, 'settings'>): PartSettings {
  const texts = (name: string) => {
    const { [name]: list } = settings;
    return Array.isArray(list) ? list.filter((text) => typeof text === 'string') : [];
  };
  const count = (name: string) => (isInteger(settings[name]) ? settings[name] : undefined);
  return {
    domains: texts('domains'),
    ids: texts('ids'),
    limit: count('limit'),
    sample: count('sample'),
    sampleSeed: count('sample-seed') ?? 0,
    shard: typeof settings.shard === 'string' ? settings.shard : undefined,
    repeats: count('repeats') ?? 1,
    lean: settings.lean === true,
    skipInvalid: settings['skip-invalid'] === true,
    judgeRepeats: count('judge-repeats') ?? 1,
    judgeSees: settings['judge-sees'] === 'rollout' ? 'rollout' : 'history',
  };
}

/** The rows that the parts took, or would have taken without --shard, in input order. @throws UserError as `chooseRows` */
export function wholeChoice(dataset: Dataset, parts: readonly PartSettings[]): RowRef[] {
  return inInputOrder(new Set(choicesOf(parts).flatMap((part) => rowsOf(dataset, part))));
}

/** A shard that no part is, and the rows that it would have. */
interface MissingShard {
  readonly shard: string;
  readonly rows: readonly RowRef[];
}

/** To tell whose rows are missing, each shard is dealt out once. */
const MOST_SHARDS = 1000;

/**
 * The shards that nobody has run, where all parts are shards of one choice; empty elsewhere.
 * @param there the shards that there are
 */
export function missingShards(
  dataset: Dataset,
  parts: readonly PartSettings[],
  there: readonly (string | undefined)[],
): MissingShard[] {
  const [choice, ...others] = choicesOf(parts);
  const counts = new Set(there.map((shard) => shard?.split('/')[1]));
  const [count] = counts;
  if (choice === undefined || others.length > 0 || counts.size !== 1) return [];
  if (count === undefined || Number(count) > MOST_SHARDS) return [];
  const all = Array.from({ length: Number(count) }, (_, index) => `${index + 1}/${count}`);
  return all
    .filter((shard) => !there.includes(shard))
    .map((shard) => ({ shard, rows: rowsIn(dataset, { ...choice, shard }) }));
}

/** The parts' choices without their shards, each once. */
function choicesOf(parts: readonly PartSettings[]): PartSettings[] {
  const choices = parts.map(({ domains, ids, limit, sample, sampleSeed, ...rest }) => {
    const choice = { domains, ids, limit, sample, sampleSeed };
    return [canonicalJson(choice), { ...rest, ...choice, shard: undefined }] as const;
  });
  return [...new Map(choices).values()];
}

function rowsOf(dataset: Dataset, { limit, sample, ...rest }: PartSettings): readonly RowRef[] {
  const given = { ...rest, ...(limit === undefined ? {} : { limit }), ...(sample === undefined ? {} : { sample }) };
  return chooseRows(dataset.rows, choiceOf(given, dataset));
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
    judgeRepeats: Math.max(...parts.map(({ judgeRepeats }) => judgeRepeats)),
    lean: parts.every(({ lean }) => lean),
    skipInvalid: parts.some(({ skipInvalid }) => skipInvalid),
    judgeSees: parts.some(({ judgeSees }) => judgeSees === 'rollout') ? ('rollout' as const) : ('history' as const),
  };
}
