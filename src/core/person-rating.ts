// A person's ratings of one prediction: as the page of `awb rate` saves them, and as `awb agree` reads them.

import { isInteger, type JsonObject } from './json.js';
import { DIMENSIONS, type Dimension } from './types.js';

/** What a line of a ratings file calls itself. */
export const PERSON_RATING_SCHEMA = 'awb.person-rating/1';

type WholeRatings = Readonly<Record<Dimension, number>>;

/** Which prediction it is of, and who gave it. */
export interface PersonRating {
  readonly key: string;
  readonly repeat: number;
  readonly rater: string;
  /** Whole numbers of 1 to 5. */
  readonly ratings: WholeRatings;
  /** SHA-256 hex of the prediction as the judge was shown it; absent where the file does not say. */
  readonly predictionSha256?: string;
  /** Changed after the person had seen what the judge says. */
  readonly revised: boolean;
}

/** A line of the file that the page saves; a CSV file has the same names in its header. */
export type PersonRatingLine = {
  readonly schema: typeof PERSON_RATING_SCHEMA;
  readonly key: string;
  readonly repeat: number;
  readonly trajectory: string;
  readonly domain: string;
  /** The run's name; null where names were hidden. */
  readonly run: string | null;
  readonly rater: string;
  readonly prediction_sha256: string;
  readonly revised: boolean;
  readonly comment?: string;
  /** ISO 8601, in UTC. */
  readonly rated_at: string;
} & WholeRatings;

/** What a rating file has to say of each row. */
export const NEEDED_FIELDS: readonly string[] = ['key', 'rater', ...DIMENSIONS];

/** Reads a line. @throws RangeError for what is missing or cannot be; its message is a part of a sentence. */
export function personRatingIn(fields: JsonObject): PersonRating {
  const { schema, repeat = 0, prediction_sha256: hash, revised = false } = fields;
  if (schema !== undefined && schema !== PERSON_RATING_SCHEMA) {
    throw new RangeError(`"schema" is ${quoted(schema)}, and this version reads ${PERSON_RATING_SCHEMA}`);
  }
  if (!isInteger(repeat) || repeat < 0) {
    throw new RangeError(`"repeat" is ${quoted(repeat)}, and no whole number from 0`);
  }
  if (hash !== undefined && !(typeof hash === 'string' && /^[0-9a-f]{64}$/i.test(hash))) {
    throw new RangeError(`"prediction_sha256" is ${quoted(hash)}, and no SHA-256 in hex`);
  }
  return {
    key: textIn(fields, 'key'),
    repeat,
    rater: textIn(fields, 'rater'),
    ratings: ratingsIn(fields),
    ...(hash === undefined ? {} : { predictionSha256: hash.toLowerCase() }),
    revised: revised === true || revised === 'true',
  };
}

function ratingsIn(fields: JsonObject): WholeRatings {
  for (const dimension of DIMENSIONS) {
    const rating = fields[dimension];
    if (isInteger(rating) && rating >= 1 && rating <= 5) continue;
    if (rating === undefined) throw new RangeError(`the rating "${dimension}" is missing`);
    throw new RangeError(`"${dimension}" is ${quoted(rating)}, and a rating is a whole number of 1 to 5`);
  }
  const ratings = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, fields[dimension]]));
  // Each has just been looked at.
  return ratings as Record<Dimension, number>;
}

function textIn(fields: JsonObject, name: string): string {
  const value = fields[name];
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '') throw new RangeError(`"${name}" is missing`);
  return text;
}

const LONGEST_QUOTED = 40;

function quoted(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text;
}
