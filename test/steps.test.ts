import { describe, expect, it } from 'vitest';
import { atOnce, eachInSteps } from '../src/steps.js';

describe('work in steps', () => {
  it('takes 256 items a step, and every item once with its place', () => {
    const taken: number[] = [];
    const steps = eachInSteps(
      Array.from({ length: 1000 }, (_, item) => item * 2),
      (item, place) => taken.push(item - place),
    );
    const sizes: number[] = [];
    for (let done = false; !done; ) {
      const before = taken.length;
      done = steps.next().done === true;
      sizes.push(taken.length - before);
    }
    expect(sizes).toEqual([256, 256, 256, 232]);
    expect(taken).toEqual(Array.from({ length: 1000 }, (_, place) => place));
  });

  it('comes to the same at once', () => {
    const work = function* () {
      yield;
      yield;
      return 7;
    };
    expect(atOnce(work())).toBe(7);
  });
});
