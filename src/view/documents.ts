// The documents that the web app shows, each under its name: a path of the viewer's server, a file of a bundle, or an element of a static page.

import type { z } from 'zod';
import type { Fact } from '../core/facts.js';
import type { Cell } from '../core/table.js';
import type { Estimate } from '../core/types.js';
import type { LEADERBOARD } from '../report/formats.js';
import type { GATE } from '../report/gate.js';
import type { RunStatus } from '../results/status.js';
import type { CalibrationDocument } from '../stats/calibration/document.js';

/** What stands under each name. A run is named by its `ref`, which it keeps over renaming, moving and scoring again. */
export interface Documents {
  readonly index: Index;
  readonly [run: `run/${string}`]: RunDocument;
  /** What agents did in simulated worlds, as transcripts. */
  readonly [episodes: `episodes/${string}`]: Shown;
  readonly [samples: `samples/${string}`]: SampleList;
  /** `texts/REF/TRAJECTORY`: the texts of all rows of one trajectory (its place in `SampleList.trajectories`). */
  readonly [texts: `texts/${string}`]: TrajectoryTexts;
  /** `compare/BASE/CANDIDATE`. */
  readonly [compare: `compare/${string}`]: CompareDocument;
  /** What `awb gate` decided, of whatever it was given. */
  readonly gate: CompareDocument;
  readonly leaderboard: LeaderboardDocument;
  /** Of the judge of a run. */
  readonly [calibration: `calibration/${string}`]: ShownCalibration;
  /** Of a run that a panel judged. */
  readonly [panel: `panel/${string}`]: Shown;
  /** Of a judge with people. */
  readonly agreement: Shown;
}
export type DocumentName = Extract<keyof Documents, string>;

/** What there is to see. */
export interface Index {
  /** Name and version of the program. */
  readonly tool: string;
  /** Whether a server stands behind it, so that it may change. */
  readonly isLive: boolean;
  /** Whether it holds scores alone, and no texts. */
  readonly scoresOnly: boolean;
  /** The newest first. */
  readonly runs: readonly ListedRun[];
  /** What agents did in simulated worlds. */
  readonly episodes: readonly ListedEpisodes[];
  /** Runs that have not ended well: at work, killed, incomplete. */
  readonly work: readonly RunStatus[];
  /** What could not be read, and why. */
  readonly unread: readonly { readonly place: string; readonly reason: string }[];
}

/** What a run leads with, as `awb score` does: the score with the model's failures at rating 1, or the measure of its mode. */
interface Lead {
  /** `Overall`, or what the mean over fewer domains or of a measure is called. */
  readonly name: string;
  readonly decimals: number;
  /** Where its scale ends; null where it has no end. */
  readonly from: number | null;
  readonly to: number | null;
  readonly better: 'larger' | 'smaller' | 'neither';
}

/** A run in the list. */
export interface ListedRun {
  readonly ref: string;
  readonly name: string;
  /** How it was judged: `rubric`, `metrics` ... */
  readonly mode: string;
  readonly worldModel: string | null;
  readonly protocol: string | null;
  readonly judge: string | null;
  readonly rubricPack: string | null;
  readonly lead: Lead;
  readonly overall: Estimate | null;
  /** `name` is what people call a domain. */
  readonly domains: readonly { readonly domain: string; readonly name: string; readonly estimate: Estimate | null }[];
  readonly coverage: number;
  readonly state: string;
  readonly usd: number | null;
  /** ISO 8601. */
  readonly date: string;
  /** What is known of its judge, in a line; null where it asked none. */
  readonly trust: string | null;
  /** Runs of one series differ in their step alone (model, protocol, judge, pack and `--meta`); null without a step. */
  readonly series: string | null;
  readonly step: number | null;
  /** Runs of one key were judged alike, so that their scores may be compared. */
  readonly judgedAlike: string;
}

/** Episodes of an agent in the list: a folder that `awb simulate` wrote. */
export interface ListedEpisodes {
  readonly ref: string;
  readonly name: string;
  /** ISO 8601. */
  readonly date: string;
}

/** A name and what is known under it. */
export type NamedText = readonly [name: string, text: string];

/** What a page says, part by part, each of which one component draws. What a page does not have is absent. */
export interface Page {
  readonly title: string;
  /** What made it, in one line; and further lines. */
  readonly facts?: readonly NamedText[];
  readonly lines?: readonly Cell[];
  /** What a reader must know before believing the figures, one sentence each. */
  readonly warnings?: readonly string[];
  /** What it comes to, why, and what was found in particular. */
  readonly outcome?: Cell;
  readonly said?: readonly Cell[];
  readonly reasons?: readonly Cell[];
  readonly figures?: readonly KeyFigure[];
  /** What to heed. */
  readonly notes?: readonly Cell[];
  readonly blocks: readonly PageBlock[];
}

/** A result as the page that it is shown on. */
export interface Shown {
  readonly page: Page;
}

/** A figure that a page leads with, such as `99.9 %`, and the lines below it. */
export interface KeyFigure {
  readonly title: string;
  readonly figure: string;
  readonly under?: readonly string[];
}

/** A part of a page, with a note on how to read it. */
export interface PageBlock {
  readonly title?: string;
  readonly note?: string;
  /** A text as it came; null where it is not known. */
  readonly text?: string | null;
  readonly notes?: readonly Cell[];
  readonly curves?: Curves;
  readonly tables?: readonly ShownTable[];
  /** What stands side by side where there is room. */
  readonly pair?: readonly PageBlock[];
  /** What opens on a click. */
  readonly folds?: readonly PageFold[];
}

export interface PageFold {
  readonly title: string;
  readonly about?: readonly Cell[];
  readonly isOpen?: boolean;
  readonly blocks: readonly PageBlock[];
}

/** A table as pages show it: one for a terminal, or one with more in its cells, and drawings. */
export interface ShownTable {
  /** Figures stand at the right; what is wide is left out on a phone. */
  readonly columns: readonly {
    readonly heading: string;
    readonly align: 'left' | 'right';
    readonly isWide?: boolean;
  }[];
  /** The first cell names the row. A name alone stands above the rows that follow. */
  readonly groups: readonly (readonly (readonly Cell[])[])[];
  /** The group from which on the first row of each sums up others; the second without saying so. */
  readonly firstSum?: number;
  readonly footnotes?: readonly string[] | undefined;
  /** Drawn next to the name of each row. */
  readonly drawings?: Drawings;
  /** On a phone each cell says what its column is called. */
  readonly isBoard?: boolean;
}

export type { Cell };

/** A figure with its interval, which is drawn. */
export interface Figure {
  readonly value: number;
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
  readonly rows?: number | undefined;
}

/** Where a scale ends; on a side that is null it ends where the figures do. */
export type ScaleEnds = readonly [from: number | null, to: number | null] | 'around 0';

/** Figures with their intervals, on one scale; or shares of a whole, by counts. One for each row, group by group. */
export type Drawings =
  | { readonly figures: readonly (Figure | null)[]; readonly ends: ScaleEnds }
  | { readonly counts: readonly (readonly number[])[] };

/** Curves on one scale. */
export interface Curves {
  readonly ends: ScaleEnds;
  /** Values that the scale holds even where no figure is as large. */
  readonly least?: readonly number[];
  /** Where a dashed line runs across. */
  readonly limit?: number;
  readonly curves: readonly {
    readonly name: string;
    readonly isSum: boolean;
    readonly points: readonly CurvePoint[];
  }[];
}

export interface CurvePoint {
  /** How far from the left it stands, 0 to 1. */
  readonly at: number;
  /** Its name below the drawing; a point without one has no dot. */
  readonly label: string;
  readonly figure: Figure;
  /** The value of another run there. */
  readonly other?: number | undefined;
  /** Whether the reader has ticked it. */
  readonly isChosen?: boolean | undefined;
}

/** What `awb score` says of a run, and what is behind that; of a run on scenarios every sample with its texts, too. */
export interface RunDocument extends Shown {
  readonly ref: string;
  readonly mode: string;
  /** Samples that it has no room for. */
  readonly leftOut?: number;
}

/** A figure of every sample: its name, and where its scale ends; null for one that has no scale on which larger is better. */
export type FigureScale = readonly [name: string, end: 5 | 100 | null];

/** The samples of a run, without their texts. Names are short, since there are thousands. */
export interface SampleList {
  readonly ref: string;
  readonly name: string;
  readonly lead: Lead;
  readonly domains: readonly { readonly domain: string; readonly name: string }[];
  readonly figures: readonly FigureScale[];
  /** Hashes of trajectories; a sample names its own by place. */
  readonly trajectories: readonly string[];
  /** In reading order: by domain, trajectory, turn, repeat and judgement. */
  readonly samples: readonly ListedSample[];
}

/** One judged row. Its `row-id` (`core/row-id.ts`) is `k`, `r` and `j` together. */
export interface ListedSample {
  readonly k: string;
  /** Repeat and judgement, from 0 on; absent where 0. */
  readonly r?: number | undefined;
  readonly j?: number | undefined;
  /** Places in `domains` and `trajectories`. */
  readonly d: number;
  readonly g: number;
  /** Turn, from 1 on. */
  readonly t: number;
  /** Its score; absent where it has none. */
  readonly v?: number | undefined;
  /** Its figures, in the order of `figures`; absent where it has none. */
  readonly f?: readonly (number | null)[] | undefined;
  /** Why it failed: the class, and a sentence. */
  readonly x?: string | undefined;
  readonly y?: string | undefined;
  /** Flags; absent where there is none. */
  readonly l?: readonly string[] | undefined;
  /** Claims of determined facts that the prediction did not meet; absent where there is none. */
  readonly u?: readonly string[] | undefined;
  /** How many determined facts its checklist lists. */
  readonly o?: number | undefined;
  /** The judge's first weakness, on one line; absent where there is none. */
  readonly n?: string | undefined;
  /** Of a rollout: the distance from the last true observation. */
  readonly s?: number | undefined;
}

/** The texts of the rows of one trajectory, each different text once: turns share their history. Numbers are places in `strings`. */
export interface TrajectoryTexts {
  readonly strings: readonly string[];
  /** By record id (`rowId`). */
  readonly rows: Readonly<Record<string, SampleTexts>>;
  /** Why there are no texts, or no histories; absent where all of them are there. */
  readonly missing?: string | undefined;
}

export interface SampleTexts {
  readonly truth: number;
  readonly action: number;
  /** Action and observation of each earlier turn; absent where the document has no room for histories. */
  readonly history?: readonly number[] | undefined;
  readonly system?: number | undefined;
  /** As the judge was shown it; absent where nothing was predicted. */
  readonly prediction?: number | undefined;
  /** The model's reply as it came, where it differs. */
  readonly reply?: number | undefined;
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  readonly facts?: readonly Fact[] | undefined;
  /** The judge's reply as it came, and its reasoning. */
  readonly judgeReply?: number | undefined;
  readonly judgeThoughts?: number | undefined;
  /** What prediction and judgement took, a line each. */
  readonly spent?: readonly string[] | undefined;
  /** The request to the world model, made again from its parts; absent where that cannot be done. */
  readonly request?: RequestAgain | undefined;
  /** Commands that ask and judge this row again, to be pasted. */
  readonly commands: readonly string[];
}

/** A request as it would be sent now. Keys are left out. */
export interface RequestAgain {
  readonly url: string;
  /** All of the body but its messages. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly messages: readonly { readonly role: string; readonly content: number }[];
}

/** The document of the page on which people rate, which holds nothing else; its name is `rating`. */
export interface RatingDocument {
  /** Name and version of the program. */
  readonly tool: string;
  readonly title: string;
  /** Under which the browser keeps the progress. */
  readonly store: string;
  /** The run's name; null where names are hidden. */
  readonly run: string | null;
  /** The texts of all samples, each different one once. */
  readonly strings: readonly string[];
  readonly samples: readonly RatingSample[];
}

/** A sample to be rated, with its texts: places in `strings`. */
export interface RatingSample extends Pick<SampleTexts, 'truth' | 'action' | 'history' | 'system' | 'prediction'> {
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
  /** By dimension, in the order of `DIMENSIONS`; null where it gave none. Several judgements are averaged. */
  readonly ratings: readonly (number | null)[];
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
}

/** A run held against another, or against what it has to reach. */
export interface CompareDocument extends Shown {
  /** What `awb gate --json` prints, and what came of the comparison in a sentence; null where nothing could be decided. */
  readonly gate: (z.infer<typeof GATE> & { readonly opening: string | null }) | null;
}

/** What `awb leaderboard --json` prints. */
export type LeaderboardDocument = z.infer<typeof LEADERBOARD> & Shown;

/** What `awb calibrate --json` prints. */
export type ShownCalibration = CalibrationDocument & Shown;
