// A person's ratings of one prediction, as the page of `awb rate` saves them.

import type { Dimension } from './types.js';

/** The schema name in each line of a ratings file. */
export const PERSON_RATING_SCHEMA = 'awb.person-rating/1';

/** A line of the file that the page saves; a CSV file has the same names in its header. */
export type PersonRatingLine = {
  readonly schema: typeof PERSON_RATING_SCHEMA;
  readonly key: string;
  readonly repeat: number;
  readonly trajectory: string;
  readonly domain: string;
  /** The run's name; null if names were hidden. */
  readonly run: string | null;
  readonly rater: string;
  readonly prediction_sha256: string;
  readonly revised: boolean;
  readonly comment?: string;
  /** ISO 8601, in UTC. */
  readonly rated_at: string;
} & Readonly<Record<Dimension, number>>;
