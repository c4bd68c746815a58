// Predictions of a calibration: made again whenever they are needed, of rows that are read once.

import { describe, expect, it } from 'vitest';
import { type Dataset, openDataset } from '../../../src/benchmark/dataset.js';
import { present } from '../../../src/core/errors.js';
import { openMadePredictions } from '../../../src/judge/calibrate/plan.js';
import { RECORDED } from '../../support/cli.js';

/** Runs with a data set that counts what is read of it, and whose rows pretend to be so long. */
async function reading(bytes: number | undefined, work: (dataset: Dataset, reads: () => number) => Promise<void>) {
  const dataset = await openDataset(RECORDED);
  let reads = 0;
  const counted: Dataset = {
    ...dataset,
    rows: dataset.rows.map((row) => ({ ...row, length: bytes ?? row.length })),
    readSample({ position }) {
      reads++;
      return dataset.readSample(present(dataset.rows[position]));
    },
  };
  try {
    await work(counted, () => reads);
  } finally {
    await dataset.close();
  }
}

const PLACES = [0, 12, 24, 36, 48];

describe('predictions', () => {
  it('read a row and its donor once, however many rows are asked about at once', () =>
    reading(undefined, async (dataset, reads) => {
      const predictions = openMadePredictions(dataset, 0);
      const rows = PLACES.map((place) => present(dataset.rows[place]));
      const first = await Promise.all(rows.map((row) => predictions.make(row, 'light')));
      const again = await Promise.all(rows.map((row) => predictions.make(row, 'light')));
      expect(again).toEqual(first);
      expect(reads()).toBe(2 * rows.length);
    }));

  it('hold no more than the latest of rows that are too long to be held together', () =>
    reading(5_000_000, async (dataset, reads) => {
      const predictions = openMadePredictions(dataset, 0);
      const rows = PLACES.map((place) => present(dataset.rows[place]));
      for (const row of rows) await predictions.make(row, 'light');
      for (const variant of ['light', 'heavy']) await predictions.make(present(rows.at(-1)), variant);
      expect(reads()).toBe(2 * rows.length);
      for (const row of rows) await predictions.make(row, 'light');
      expect(reads()).toBe(4 * rows.length);
    }));
});
