// What is put beside a prediction where a judge shall choose between two texts.

import type { NoPrediction } from './prediction.js';

/** `prediction`: that of the same row in another file. `truth`: that of another row of the same domain. */
export type BesideKind = 'prediction' | 'truth';

export interface Beside {
  /** The other world model's reply as it came, or the other row's truth; empty where there is none. */
  readonly text: string;
  /** Why there is none. */
  readonly failure?: NoPrediction | undefined;
}
