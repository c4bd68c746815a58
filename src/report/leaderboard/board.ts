// What a leaderboard is: the vocabulary of the files that make one and of those that print it.

import type { MeasureLookup } from '../../core/measures.js';
import type { Column } from '../../core/table.js';
import type { Domain, Estimate } from '../../core/types.js';
import type { StoredRun } from '../../store/runs.js';
import type { PublishedRow } from '../published.js';
import type { Trust } from '../trust.js';

/** What a run's figures depend on beside its world model. Runs that differ in any of it never share a block. */
export interface JudgedWith {
  /** `rubric`, `metrics` ... */
  readonly kind: string;
  /** Whether rows were rated; else they were measured alone. */
  readonly rates: boolean;
  /** Of rows that were measured: the measure that stands for them, where one is declared to. */
  readonly lead?: string | undefined;
  readonly judge?: string | undefined;
  /** Present where what was asked is no judge but an agent. */
  readonly asked?: 'agent' | undefined;
  /** The judge as its server named it. */
  readonly snapshot?: string | undefined;
  readonly rubricPack?: string | undefined;
  readonly rubricFingerprint?: string | undefined;
  /** How replies were read: `strict` or `official`. */
  readonly verdicts?: string | undefined;
  /** What else the mode's records depend on. */
  readonly method?: Readonly<Record<string, unknown>> | undefined;
  /** What was sent to the judge beside the messages. */
  readonly sampling?: Readonly<Record<string, unknown>> | undefined;
  readonly protocol?: string | undefined;
  /** The rollout that the predictions stand in, such as `rollout from 0`. */
  readonly rollout?: string | undefined;
}

type Scores = Pick<StoredRun, 'label' | 'worldModel' | 'source' | 'card'> &
  Partial<Pick<StoredRun, 'costs' | 'equivalence'>>;

/** A run as the leaderboard takes it. Its texts may be hostile. */
export interface BoardRun extends Scores {
  /** Unique. */
  readonly id: string;
  /** The SQLite file it stands in, and its number there. */
  readonly db: string;
  readonly number: number;
  readonly judgedWith: JudgedWith;
  /** What is known of its judge; absent where it asked none. */
  readonly trust?: Trust | undefined;
  /** Whether it is a baseline's run: no model was asked, under no protocol, so it stands beside the runs of each. */
  readonly isBaseline: boolean;
  /** When it was judged, in ISO 8601. */
  readonly at: string;
  /** What the user said of the checkpoint, such as its step; it tells runs of one label apart. */
  readonly step?: string | undefined;
}

/** What a column of figures shows: of one domain, or where there is none the mean over domains. */
interface FigureOf {
  readonly domain?: Domain;
  /** A dimension, `total`, or a measure. */
  readonly name: string;
}

/**
 * Whether a run cannot be told from the best of `runs` in a figure: the paired difference on their common rows does not show it to be
 * worse. The test allows for the best having been chosen by the same figures. Undefined where no test can say.
 */
export type IsTied = (best: BoardRun, other: BoardRun, figure: FigureOf, runs: number) => boolean | undefined;

export interface BoardOptions {
  /** Of runs under one name, the latest, the best, or all. */
  readonly show: 'latest' | 'best' | 'all';
  /** What names a run: its label (its model where it has none), or its model. */
  readonly per: 'label' | 'model';
  /** A column's id; Overall where absent. Figures stand from the best on, texts rise. */
  readonly sort?: string | undefined;
  /** Ids of columns to show behind the name; the usual ones where empty. */
  readonly columns: readonly string[];
  /** Adds the five dimensions, each a mean over domains. */
  readonly dimensions: boolean;
  /** The measure shown of runs that were measured, such as `chrf`; the one that stands for them where absent. */
  readonly measure?: string | undefined;
  /** What the numbers of measures mean. */
  readonly measureOf: MeasureLookup;
  /** Least coverage of each domain, and least share of the most rows that a run has in it, 0 to 1; runs below are neither tested nor marked. */
  readonly minCoverage: number;
  readonly withPublished: boolean;
  /** The caller vouches that what was not recorded, judge or protocol, was the same in all runs that lack it. */
  readonly assumeSame: boolean;
}

/** A score of 0-100, a measure, dollars or tokens; a published one is a value alone. */
export type BoardFigure = Pick<Estimate, 'value'> &
  Partial<Estimate> & {
    /** The same as the official script counts it, which leaves out what the model failed; absent where there is no such figure. */
    readonly official?: number | undefined;
    /** Set where the value is the least that it can be: some of it is not known. */
    readonly isLeast?: true;
  };

/** A column of texts or, where `figure` says of what, of figures. */
export interface BoardColumn extends Column {
  readonly id: string;
  readonly figure?: FigureOf;
  /** Whether it is a mean over domains, which is comparable only over the same domains. */
  readonly isMean?: boolean;
  /** Whether runs are held against each other in it. */
  readonly isTested?: boolean;
  /** Whether a smaller figure is better, whatever the block shows. */
  readonly isLowerBetter?: boolean;
  figureOf?(run: Pick<OwnEntry, 'run' | 'mean' | 'rows'>): BoardFigure | undefined;
  /** The text of a row; of a figure, where it is more than its value. */
  textOf?(entry: Entry, figure?: BoardFigure): string;
}

/** A run or a published row, before it is known which columns are marked. */
export interface Entry {
  readonly name: string;
  /** Absent for a published row. */
  readonly run?: BoardRun | undefined;
  readonly published?: PublishedRow;
  /** Whether every domain reaches the least coverage. */
  readonly isComplete: boolean;
  /** Domains in which it has fewer rows than another run of its block, so that it is neither ranked among those nor tested. */
  readonly fewer: readonly Domain[];
  /** The rows behind each domain's figure; repeats are not counted. */
  readonly rows: ReadonlyMap<Domain, number>;
  /** Domains behind its mean. */
  readonly macroOf: number;
  /** The mean over domains, by which runs are chosen, sorted and tested: failures are at rating 1, so that no run rises by failing. */
  readonly mean: BoardFigure | undefined;
  /** By column id; a figure that it lacks is absent. */
  readonly figures: ReadonlyMap<string, BoardFigure>;
}

/** The entry of a run. */
export type OwnEntry = Entry & { readonly run: BoardRun };

/**
 * Ids of columns by entry: those in which it is best, or cannot be told from the best; in which it could not be tested against the best;
 * and in which its figure is better than the best's, but it is behind another on the rows of both.
 */
export type Marks = Readonly<Record<'best' | 'untested' | 'behind', Map<Entry, Set<string>>>>;

export interface BoardRow extends Entry {
  /** Ids of the columns in which it is best, or cannot be told from the best. */
  readonly marked: ReadonlySet<string>;
  /** One for each column of the block, the name first. */
  readonly texts: readonly string[];
}

/** Runs that may be compared with each other. */
export interface Block {
  /** What stands above it. */
  readonly heading: string;
  readonly title: string;
  readonly judgedWith: JudgedWith;
  /** Judged as the published rows were. */
  readonly isOfficial: boolean;
  /** What is known of its judge; absent where none was asked. */
  readonly trust?: Trust | undefined;
  /** The same in a line; none where none was asked. */
  readonly judge: readonly string[];
  /** Of a block of measured runs: which measure it shows. */
  readonly measure?: string | undefined;
  readonly columns: readonly BoardColumn[];
  /** The block's own runs, then the published rows. */
  readonly rows: readonly BoardRow[];
  /** What a mark says, where there are marks. */
  readonly markNote?: string | undefined;
  /** How to read any such block. */
  readonly legend: readonly string[];
  /** What a reader has to know of these very runs. */
  readonly notes: readonly string[];
}

export interface Leaderboard {
  readonly blocks: readonly Block[];
}

/** How to read a block, what a mark means first. */
export function legendOn({ markNote, legend }: Block, mark: string): string[] {
  return [...(markNote === undefined ? [] : [`${mark}: ${markNote}`]), ...legend];
}

/** All that is said below a block, what a mark means first. */
export function remarksOn(block: Block, mark: string): string[] {
  return [...legendOn(block, mark), ...block.notes];
}

/** Ids of the columns of figures. */
export function figureIds({ columns }: Block): string[] {
  return columns.filter(({ figure }) => figure !== undefined).map(({ id }) => id);
}
