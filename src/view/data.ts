// The JSON in the pages of reports, as their makers write it and their scripts read it. Names are short where there are thousands.

import type { Step } from '../core/difference.js';
import type { Fact } from '../core/facts.js';

/** A figure of every sample: its name, and where its scale ends; null for one that has no scale on which larger is better. */
export type FigureData = readonly [name: string, end: 5 | 100 | null];

/** What is known of one side of a sample: this run's, or that of the run beside it. */
export interface SideData {
  /** Its score; absent where it has none. */
  readonly v?: number | undefined;
  /** Its figures, in the order of `PageData.figures`; empty where it has none. */
  readonly f: readonly (number | null)[];
  /** Why it failed: the class, and a sentence. */
  readonly x?: string | undefined;
  readonly y?: string | undefined;
}

export interface SampleData extends SideData {
  /** Domain, as an index into `PageData.domains`. */
  readonly d: number;
  /** Turn from 1 on, repeat from 0 on. */
  readonly t: number;
  readonly r: number;
  /** Judgement from 1 on, of the second and further ones of one prediction. */
  readonly j?: number | undefined;
  readonly k: string;
  /** Number of its trajectory, from 1 on. */
  readonly g: number;
  readonly l: readonly string[];
  /** How far its score moved from the other run's. */
  readonly c?: number | undefined;
  /** How much better that made it: null where no score is better than another, and absent where it is `c`, a larger one being better. */
  readonly b?: number | null | undefined;
  /** One line that says why. */
  readonly n: string;
  readonly o?: SideData | undefined;
}

export interface PageData {
  readonly run: string;
  readonly other: string | null;
  readonly domains: readonly string[];
  readonly figures: readonly FigureData[];
  /** How many decimals scores are shown with; absent where it is one. */
  readonly decimals?: number | undefined;
  readonly repeats: boolean;
  readonly samples: readonly SampleData[];
}

/** The texts of one side. Numbers are places among the strings. */
export interface SideTextData {
  /** Absent where nothing was predicted. */
  readonly prediction?: number | undefined;
  readonly steps?: readonly Step[] | undefined;
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  /** Absent where there is no checklist. */
  readonly facts?: readonly Fact[] | undefined;
  readonly reply?: number | undefined;
  readonly thoughts?: number | undefined;
}

export interface RowTextData extends SideTextData {
  readonly truth: number;
  readonly action: number;
  /** Action and observation of each earlier turn; absent where the page has no room for histories. */
  readonly history?: readonly number[] | undefined;
  readonly system?: number | undefined;
  /** What prediction and judgement took, a line each. */
  readonly spent?: readonly string[] | undefined;
  readonly other?: SideTextData | undefined;
}

/** The texts of all samples in their order, each different text once. */
export interface TextsData {
  readonly strings: readonly string[];
  readonly rows: readonly RowTextData[];
}
