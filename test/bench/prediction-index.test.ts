// The index of predictions: what is added is what is looked at, whoever wrote the file.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PredictionIndex } from '../../src/bench/prediction-index.js';
import type { PredictionRef } from '../../src/bench/prediction-ref.js';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
const place = fc.nat({ max: 2 ** 31 });
const ref: fc.Arbitrary<PredictionRef> = fc.record({
  key: fc.oneof(hex(24), fc.string()),
  trajectory: fc.oneof(fc.constantFrom('a'.repeat(24), 'b'.repeat(24)), fc.string()),
  repeat: fc.oneof(fc.constantFrom(0, 1, -1), fc.maxSafeInteger()),
  index: fc.nat({ max: 1_000 }),
  domain: fc.constantFrom('web', 'os', 'x'),
  turnIdx: place,
  line: place,
  offset: fc.maxSafeNat(),
  length: place,
  checksum: fc.nat({ max: 2 ** 32 - 1 }),
  stamp: hex(16),
  failure: fc.option(fc.record({ class: fc.constantFrom('timeout', 'empty'), reason: fc.string() }), {
    nil: undefined,
  }),
  row: fc.option(place, { nil: undefined }),
});
/** All that is known of a prediction, as it was added. */
const looked = (found: PredictionRef | undefined, names: readonly (keyof PredictionRef)[]) =>
  found && Object.fromEntries(names.map((name) => [name, found[name]]));

test('every prediction is found at its place, and none beside them', () => {
  fc.assert(
    fc.property(fc.array(ref, { maxLength: 40 }), (refs) => {
      const index = new PredictionIndex();
      for (const each of refs) index.add(each);
      expect(index.length).toBe(refs.length);
      expect([index.at(-1), index.at(refs.length)]).toEqual([undefined, undefined]);
      const names = Object.keys(refs[0] ?? {}) as (keyof PredictionRef)[];
      const expected = refs.map((each) => ({ ...each }));
      expect(refs.map((_, at) => looked(index.at(at), names))).toEqual(expected);
      expect([...index].map((each) => looked(each, names))).toEqual(expected);
    }),
  );
});
