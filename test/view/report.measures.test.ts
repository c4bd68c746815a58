// A report of measures: nothing in it takes a measure for a score that it is not.

import { describe, expect, it } from 'vitest';
import { pageOf, reportOfMeasure } from '../support/reports.js';

const pageOfMeasure = (measure: string, values: readonly number[], before = values) =>
  pageOf(reportOfMeasure(measure, values, before));

const dataIn = (page: string) => JSON.parse(/id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? '');
const ticksIn = (page: string) =>
  [...(/<svg class="axis".*?<\/svg>/s.exec(page)?.[0] ?? '').matchAll(/>([^<]+)<\/text>/g)].map((match) => match[1]);

describe('a measure without an end', () => {
  const page = pageOfMeasure('bits_a_byte', [0.5, 1.25, 3.5, 0.75, 2], [1, 1, 4, 0.75, 2]);

  it('is drawn as far as it reaches, and not cut off at 100', () => {
    expect(ticksIn(page)).toEqual(['0', '1', '2', '3', '4']);
    expect(pageOfMeasure('bits_a_byte', [150, 250, 180, 190, 170])).toContain('>300</text>');
  });

  it('is shown with two decimals', () => {
    expect(page).toContain('<dd class="big">1.60</dd>');
    expect(page).toContain('<td class="n">1.60</td>');
    expect(dataIn(page)).toMatchObject({ decimals: 2, figures: [['bits_a_byte', null]] });
  });

  it('is filtered by no band and no step of points', () => {
    expect(page).not.toMatch(/below 25|by 25 points|scale of 0 to 100/);
    expect(page).toContain('smaller is better');
  });

  it('became better where it became smaller', () => {
    const { samples } = dataIn(page);
    expect(samples.map(({ c, b }: { c: number; b: number }) => [c, b])).toEqual(
      [
        [-0.5, 0.5],
        [0.25, -0.25],
        [-0.5, 0.5],
        [0, -0],
        [0, -0],
      ].map(([c, b]) => [c, (b ?? 0) + 0]),
    );
  });
});

describe('a measure that is best at 50', () => {
  const page = pageOfMeasure('taken_for_real', [60, 20, 50], [50, 30, 90]);

  it('keeps its scale, and takes no larger value for a better one', () => {
    expect(ticksIn(page)).toEqual(['0', '25', '50', '75', '100']);
    expect(dataIn(page).samples.map(({ b }: { b: number }) => b)).toEqual([-10, -10, 40]);
    expect(dataIn(page).figures).toEqual([['taken_for_real', null]]);
  });
});

it('a measure of which neither way is better did not become better', () => {
  expect(dataIn(pageOfMeasure('length', [3, 4], [2, 6])).samples.map(({ b }: { b: null }) => b)).toEqual([null, null]);
});

it('a measure that is read as scores are is shown as ever', () => {
  const page = pageOfMeasure('chrf', [60, 20, 50], [50, 30, 90]);
  expect(dataIn(page)).toMatchObject({ figures: [['chrf', 100]] });
  expect(dataIn(page)).not.toHaveProperty('decimals');
  expect(dataIn(page).samples[0]).not.toHaveProperty('b');
  expect(page).toMatch(/below 25.*by 25 points or more/s);
});
