// The JSON in the page on which people rate, as its makers write it and its script reads it.

/** A sample to be rated. Its texts stand in the page's chunk at the same place. */
export interface RatingSample {
  readonly key: string;
  readonly repeat: number;
  readonly trajectory: string;
  readonly domain: string;
  /** What it is called on the page. */
  readonly title: string;
  /** SHA-256 hex of the prediction as the judge is shown it. */
  readonly sha256: string;
  /** What the judge says: `JudgeSays` as JSON in base64, so that nobody reads it before its time, not even in the page's source. */
  readonly judge: string;
}

/** What the judge says of a sample. */
export interface JudgeSays {
  /** By dimension, in the order of `RatingPageData.dimensions`; null where it gave none. Several judgements are averaged. */
  readonly ratings: readonly (number | null)[];
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
}

/** A dimension: its name in files, its heading, and what it asks. */
export type RatingDimension = readonly [name: string, heading: string, question: string];

export interface RatingPageData {
  /** Under which the browser keeps the progress. */
  readonly store: string;
  /** What a line of the saved file calls itself. */
  readonly schema: string;
  /** The run's name; null where names are hidden. */
  readonly run: string | null;
  readonly dimensions: readonly RatingDimension[];
  readonly samples: readonly RatingSample[];
}
