// The predictions that a calibration is made of: each of a row and a variant, made whenever it is needed and never kept.

import { createHash } from 'node:crypto';
import { donorsOf } from '../../baselines.js';
import type { Dataset, RowRef } from '../../bench/dataset.js';
import type { Variant } from '../../calibrate/variant.js';
import { VARIANTS } from '../../calibrate/variants.js';
import { present } from '../../present.js';
import { randomOf } from '../../random.js';
import type { Sample } from '../../types.js';

const LIST: Readonly<Record<string, Variant>> = VARIANTS;

/** The variant of a name that `chosenVariants` gave. */
export function variantOf(name: string): Variant {
  return present(LIST[name]);
}

/** A row's variant: what a world model would have replied, and the row that it would have replied to. */
interface Made {
  readonly sample: Sample;
  readonly gen: string;
}

export interface MadePredictions {
  /** Undefined where the row has nothing that the variant could be made of. */
  make(row: RowRef, variant: string): Promise<Made | undefined>;
}

/**
 * Variants of a row follow one another, but judges answer about many rows at once. Rows of so many bytes are held, so that each is read,
 * and what determines it is found, once and not with every judgement.
 */
const BYTES_HELD = 8_000_000;

/** The same seed gives the same predictions of the same rows, whatever else is chosen. */
export function openMadePredictions(dataset: Dataset, seed: number): MadePredictions {
  const donors = donorsOf(dataset.rows);
  const held = new Map<RowRef, Promise<Samples>>();
  const bytesOf = (row: RowRef) => row.length + (donors(row) ?? row).length;
  let bytes = 0;
  const samplesOf = (row: RowRef) => {
    const found = held.get(row);
    const samples = found ?? readSamples(dataset, row, donors(row));
    if (found === undefined) bytes += bytesOf(row);
    // The row used last stands last.
    held.delete(row);
    held.set(row, samples);
    for (const oldest of held.keys()) {
      if (bytes <= BYTES_HELD || oldest === row) break;
      held.delete(oldest);
      bytes -= bytesOf(oldest);
    }
    return samples;
  };
  return {
    async make(row, variant) {
      const { sample, donor } = await samplesOf(row);
      const gen = variantOf(variant).make({
        sample,
        donor,
        random: randomOf(streamOf(seed, sample.key, variant)),
        rowRandom: randomOf(streamOf(seed, sample.key, '')),
      });
      return gen === undefined ? undefined : { sample, gen };
    },
  };
}

interface Samples {
  readonly sample: Sample;
  readonly donor: Sample | undefined;
}

async function readSamples(dataset: Dataset, row: RowRef, donor: RowRef | undefined): Promise<Samples> {
  const [sample, other] = await Promise.all([row, donor].map((one) => one !== undefined && dataset.readSample(one)));
  return { sample: present(sample || undefined), donor: other || undefined };
}

function streamOf(seed: number, key: string, variant: string): number {
  return createHash('sha256').update(`${seed} ${key} ${variant}`).digest().readInt32LE();
}
