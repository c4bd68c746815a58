// A panel of judges: the words in which score joins their ratings, and report shows what came of it.

import type { Agreement } from './agreement.js';
import type { Figure } from './comparison.js';
import type { Domain, Ratings } from './types.js';

/** How the judges' ratings of one dimension become one. */
export type Combination = 'mean' | 'median';

export interface PanelRule {
  readonly combine: Combination;
  /** How many judges a rating needs; all of them where absent. */
  readonly quorum?: number | undefined;
}

/** By how much each judge rates higher in one domain than all of them together. */
export interface DomainOffsets {
  /** Predictions that all judges rated, of which they come. */
  readonly rows: number;
  /** Of each judge, in the judges' order; a dimension that no prediction has from all judges is absent. */
  readonly judges: readonly Ratings[];
}
export type Offsets = ReadonlyMap<Domain, DomainOffsets>;

/** How far the judges agree: by the ordinal alpha in a dimension, by the interval alpha in the total. Absent where it is not defined. */
export interface PanelAgreement {
  readonly figures: Readonly<Partial<Record<Figure, Agreement>>>;
  readonly domains: readonly { readonly domain: Domain; readonly total: Agreement | undefined }[];
}

/** One of the judges. Its texts may be hostile. */
export interface PanelJudge {
  readonly name: string;
  /** Its judged file, as the user named it. */
  readonly file: string;
  /** Predictions that it rated; those that failed by its own doing, or the transport's; and those it has no row of. */
  readonly rated: number;
  readonly failed: number;
  readonly absent: number;
  /** The mean of its totals over the predictions that all judges rated, in points of 0-100; absent where there are none. */
  readonly meanTotal?: number;
}

/** What a panel came to. Counts are of predictions. */
export interface JoinedPanel extends PanelRule {
  readonly judges: readonly PanelJudge[];
  readonly predictions: number;
  readonly rated: number;
  /** Of these, rated by fewer than all judges. */
  readonly byFewer: number;
  /** Failures that the world model caused: they are the prediction's, whoever judges. */
  readonly modelCaused: number;
  /** A judge failed, and too few are left. */
  readonly missing: number;
  /** A judge has no row of it, and too few are left: the panel has none either. */
  readonly notJudged: number;
  /** Under a quorum. */
  readonly offsets?: Offsets;
  readonly agreement: PanelAgreement;
}
