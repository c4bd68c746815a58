// What a variant is: a prediction of known quality, made from a row of the benchmark.

import type { VariantFacts } from '../calibration.js';
import type { Random } from '../random.js';
import type { Sample } from '../types.js';

/** An entry of the list of variants. */
export interface Variant extends Omit<VariantFacts, 'name'> {
  /** Whether it is judged twice, so that the judge's own noise shows. */
  readonly isRepeated?: true;
  /** A world model's whole reply; undefined where the row has nothing that it could be made of. */
  make(subject: Subject): string | undefined;
}

/** What variants are made of. */
export interface Subject {
  readonly sample: Sample;
  /** Another row of the domain, from another trajectory where there is one; undefined for a domain's only row. */
  readonly donor: Sample | undefined;
  /** A stream of its own for each row and variant, so that one more variant changes no other. */
  readonly random: Random;
  /** A stream that starts alike for each variant of the row: variants that build on one another draw the same from it. */
  readonly rowRandom: Random;
}
