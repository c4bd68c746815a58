// The predictions that a calibration is made of: each of a row and a variant, made whenever it is needed and never kept.

import { createHash } from 'node:crypto';
import { donorsOf } from '../../baselines.js';
import type { Dataset } from '../../bench/dataset.js';
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
  make(row: number, variant: string): Promise<Made | undefined>;
}

/** The same seed gives the same predictions of the same rows, whatever else is chosen. */
export function openMadePredictions(dataset: Dataset, seed: number): MadePredictions {
  const donors = donorsOf(dataset.rows);
  let latest: { readonly row: number; readonly samples: Promise<Samples> } | undefined;
  const samplesOf = (row: number) => {
    // The variants of a row follow one another.
    if (latest?.row !== row) latest = { row, samples: readSamples(dataset, row, donors(row)) };
    return latest.samples;
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

async function readSamples(dataset: Dataset, row: number, donor: number | undefined): Promise<Samples> {
  const [sample, other] = await Promise.all([row, donor].map((one) => one !== undefined && dataset.readSample(one)));
  return { sample: present(sample || undefined), donor: other || undefined };
}

function streamOf(seed: number, key: string, variant: string): number {
  return createHash('sha256').update(`${seed} ${key} ${variant}`).digest().readInt32LE();
}
