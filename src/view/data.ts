// The JSON in a report's page, as its makers write it and its script reads it. Names are short where there are thousands.

import type { Step } from '../core/difference.js';
import type { Fact } from '../core/facts.js';

/** A figure of every sample: its name, and where its scale ends; null for one that has no scale on which larger is better. */
export type FigureData = readonly [name: string, end: 5 | 100 | null];

/** What is known of one side of a sample: this run's, or that of the run beside it. */
export interface SideData {
  /** Its score; absent where it has none. */
  readonly v?: number;
  /** Its figures, in the order of `PageData.figures`; empty where it has none. */
  readonly f: readonly (number | null)[];
  /** Why it failed: the class, and a sentence. */
  readonly x?: string;
  readonly y?: string;
}

export interface SampleData extends SideData {
  /** Domain, as an index into `PageData.domains`. */
  readonly d: number;
  /** Turn from 1 on, repeat from 0 on. */
  readonly t: number;
  readonly r: number;
  /** Judgement from 1 on, of the second and further ones of one prediction. */
  readonly j?: number;
  readonly k: string;
  /** Number of its trajectory, from 1 on. */
  readonly g: number;
  readonly l: readonly string[];
  /** How far its score moved from the other run's. */
  readonly c?: number;
  /** How much better that made it: null where no score is better than another, and absent where it is `c`, a larger one being better. */
  readonly b?: number | null;
  /** One line that says why. */
  readonly n: string;
  readonly o?: SideData;
}

export interface PageData {
  readonly run: string;
  readonly other: string | null;
  readonly domains: readonly string[];
  readonly figures: readonly FigureData[];
  /** How many decimals scores are shown with; absent where it is one. */
  readonly decimals?: number;
  /** Index of the first sample of each chunk of texts. */
  readonly starts: readonly number[];
  /** Index of the first of these samples, and how many the report has. */
  readonly from: number;
  readonly total: number;
  readonly repeats: boolean;
  readonly samples: readonly SampleData[];
  /** Where the pages of texts lie; null where the texts are in the page. */
  readonly pages: string | null;
  /** Which chunk of texts this page holds; null in the report itself. */
  readonly chunk: number | null;
  /** The report's address, seen from a page of texts. */
  readonly back: string;
}

/** The texts of one side. Numbers are places among the chunk's strings. */
export interface SideTextData {
  /** Absent where nothing was predicted. */
  readonly prediction?: number;
  readonly steps?: readonly Step[];
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  /** Absent where there is no checklist. */
  readonly facts?: readonly Fact[];
  readonly reply?: number;
  readonly thoughts?: number;
}

export interface RowTextData extends SideTextData {
  readonly truth: number;
  readonly action: number;
  /** Action and observation of each earlier turn. */
  readonly history: readonly number[];
  readonly system?: number;
  /** What prediction and judgement took, a line each. */
  readonly spent?: readonly string[];
  readonly other?: SideTextData;
}

/** Texts of consecutive samples, each different text once. */
export interface ChunkData {
  readonly strings: readonly string[];
  readonly rows: readonly RowTextData[];
}
