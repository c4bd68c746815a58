// The predictions of a calibration: made again whenever they are needed, from rows that are read once.

import { describe, expect, it } from 'vitest';
import { type Dataset, openDataset } from '../../../src/benchmark/dataset.js';
import { present } from '../../../src/core/errors.js';
import { openMadePredictions } from '../../../src/judge/calibrate/plan.js';
import { RECORDED } from '../../support/cli.js';

/** Runs with a data set that counts the reads of its rows. */
async function reading(work: (dataset: Dataset, reads: () => number) => Promise<void>) {
  const dataset = await openDataset(RECORDED);
  let reads = 0;
  const counted: Dataset = {
    ...dataset,
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
  it('read a row and its donor once, however many rows are requested at once', () =>
    reading(async (dataset, reads) => {
      const predictions = openMadePredictions(dataset, 0);
      const rows = PLACES.map((place) => present(dataset.rows[place]));
      const first = await Promise.all(rows.map((row) => predictions.make(row, 'light')));
      const again = await Promise.all(rows.map((row) => predictions.make(row, 'light')));
      expect(again).toEqual(first);
      expect(reads()).toBe(2 * rows.length);
    }));

  it('cache only the latest rows', () =>
    reading(async (dataset, reads) => {
      const predictions = openMadePredictions(dataset, 0);
      const rows = dataset.rows.slice(0, 17);
      for (const row of rows) await predictions.make(row, 'light');
      expect(reads()).toBe(2 * rows.length);
      await predictions.make(present(rows.at(-1)), 'heavy');
      expect(reads()).toBe(2 * rows.length);
      await predictions.make(present(rows[0]), 'heavy');
      expect(reads()).toBe(2 * rows.length + 2);
    }));
});
