// What one pass over the benchmark's files finds, and what is made of it: the check of a copy, and its sizes.

import type { Domain } from './types.js';

/** A line of a data file. */
export interface Place {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

export interface SurveyedRow extends Place {
  readonly domain: Domain;
  readonly id: string;
  readonly turnIdx: number;
  /** Rows of one trajectory have one number. */
  readonly trajectory: number;
  /** Where the row stands that it equals. */
  readonly equals?: Place;
  /** Of what the world model is sent, by the official protocol. */
  readonly contextTokens: number;
  readonly truthTokens: number;
}

interface UnusableLine extends Place {
  readonly reason: string;
  /** Where at least that could be read. */
  readonly domain?: Domain;
}

export interface Survey {
  readonly files: readonly string[];
  readonly rows: readonly SurveyedRow[];
  readonly unusable: readonly UnusableLine[];
}

/** A domain of a copy beside the release. */
export interface DomainCheck {
  readonly domain: Domain;
  readonly rows: number;
  /** Absent for a domain that the release does not have. */
  readonly released?: number;
  readonly trajectories: number;
  /** Of its contexts; absent where it has no rows. */
  readonly medianTokens?: number;
  readonly longestTokens?: number;
}

/** A row by its place, with what is remarkable of it. */
export interface LongRow extends Place {
  readonly domain: Domain;
  readonly contextTokens: number;
}

export interface DataCheck {
  readonly files: readonly string[];
  /** Domains of the release first, whether they have rows or not. */
  readonly domains: readonly DomainCheck[];
  readonly rows: number;
  readonly released: number;
  readonly trajectories: number;
  readonly unusable: readonly UnusableLine[];
  /** Rows that equal an earlier one in all that they hold. */
  readonly equal: readonly (Place & { readonly equals: Place })[];
  /** Rows that have domain, id and turn of an earlier one without being equal to it. */
  readonly sameTurn: readonly Place[];
  /** The longest first. */
  readonly longest: readonly LongRow[];
  /** Rows longer than the model's context, the longest first. */
  readonly beyond: readonly LongRow[];
}

/** What the record of a fetch says of a folder. */
export type SourceCheck =
  | { readonly status: 'none' }
  | { readonly status: 'damaged' }
  | {
      readonly status: 'as-fetched' | 'differs';
      readonly repository: string;
      readonly revision: string;
      readonly commit: string;
      readonly files: readonly { readonly name: string; readonly state: 'same' | 'differs' | 'missing' }[];
      /** Files of rows that were not fetched. */
      readonly strangers: readonly string[];
    };

/** How many values there are in bins of equal width on a logarithmic scale, and where their middle and their end are. */
export interface Spread {
  readonly median: number;
  readonly p90: number;
  readonly max: number;
  readonly bins: readonly number[];
}

/** Turns, contexts and ground truths of some rows. */
export interface RowStats {
  readonly rows: number;
  readonly trajectories: number;
  readonly turn: Spread;
  readonly context: Spread;
  readonly truth: Spread;
}

export type SizeName = 'turn' | 'context' | 'truth';

export interface DataStats {
  readonly domains: readonly (RowStats & { readonly domain: Domain })[];
  readonly all: RowStats;
  /** Where each measure's bins lie: one edge more than there are bins. */
  readonly edges: Readonly<Record<SizeName, readonly number[]>>;
}
