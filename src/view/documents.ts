// The documents that the web app shows, by name: a path of the viewer's server, a file of a bundle, or an element of a static page.

import type { z } from 'zod';
import type { Fact } from '../core/facts.js';
import type { Cell } from '../core/table.js';
import type { Estimate } from '../core/types.js';
import type { LEADERBOARD } from '../report/formats.js';
import type { GATE } from '../report/gate.js';
import type { RunStatus } from '../results/status.js';
import type { CalibrationDocument } from '../stats/calibration/document.js';

/** The type of each document. A run is named by its `ref`, which survives renaming, moving and rescoring. */
export interface Documents {
  readonly index: Index;
  readonly [run: `run/${string}`]: RunDocument;
  /** Transcripts of agents in simulated worlds. */
  readonly [episodes: `episodes/${string}`]: Shown;
  readonly [samples: `samples/${string}`]: SampleList;
  /** `texts/REF/TRAJECTORY`: the texts of all rows of one trajectory (its place in `SampleList.trajectories`). */
  readonly [texts: `texts/${string}`]: TrajectoryTexts;
  /** `compare/BASE/CANDIDATE`. */
  readonly [compare: `compare/${string}`]: CompareDocument;
  /** The decision of `awb gate`. */
  readonly gate: CompareDocument;
  readonly leaderboard: LeaderboardDocument;
  /** Calibration of a run's judge. */
  readonly [calibration: `calibration/${string}`]: ShownCalibration;
  /** Agreement in the panel that judged a run. */
  readonly [panel: `panel/${string}`]: Shown;
  /** Agreement of a judge with people. */
  readonly agreement: Shown;
}
export type DocumentName = Extract<keyof Documents, string>;

/** The contents of the viewer. */
export interface Index {
  /** Name and version of the program. */
  readonly tool: string;
  /** Whether it comes from a server, so that it may change. */
  readonly isLive: boolean;
  /** Whether it contains only scores, and no texts. */
  readonly scoresOnly: boolean;
  /** The newest first. */
  readonly runs: readonly ListedRun[];
  /** Episodes of agents in simulated worlds. */
  readonly episodes: readonly ListedEpisodes[];
  /** Unfinished runs: at work, killed, incomplete. */
  readonly work: readonly RunStatus[];
  /** What could not be read, and why. */
  readonly unread: readonly { readonly place: string; readonly reason: string }[];
}

/** A run's leading figure, as in `awb score`: the score with the model's failures at rating 1, or the measure of its mode. */
interface Lead {
  /** `Overall`, or the name of the mean over fewer domains or of a measure. */
  readonly name: string;
  readonly decimals: number;
  /** Ends of its scale; null if open. */
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
  /** `name` is the display name. */
  readonly domains: readonly { readonly domain: string; readonly name: string; readonly estimate: Estimate | null }[];
  readonly coverage: number;
  readonly state: string;
  readonly usd: number | null;
  /** ISO 8601. */
  readonly date: string;
  /** What is known about its judge, in a line; null if it asked none. */
  readonly trust: string | null;
  /** Runs of one series have the same model, protocol, judge, pack and `--meta` and differ only in step; null without a step. */
  readonly series: string | null;
  readonly step: number | null;
  /** Runs with the same key were judged alike, so that their scores are comparable. */
  readonly judgedAlike: string;
}

/** A listed folder of episodes that `awb simulate` wrote. */
export interface ListedEpisodes {
  readonly ref: string;
  readonly name: string;
  /** ISO 8601. */
  readonly date: string;
}

/** A name and its value. */
export type NamedText = readonly [name: string, text: string];

/** A page, part by part; one component draws each. Missing parts are absent. */
export interface Page {
  readonly title: string;
  /** How it was made, in one line; and further lines. */
  readonly facts?: readonly NamedText[];
  readonly lines?: readonly Cell[];
  /** What a reader must know before trusting the figures, one sentence each. */
  readonly warnings?: readonly string[];
  /** The outcome, why, and the findings. */
  readonly outcome?: Cell;
  readonly said?: readonly Cell[];
  readonly reasons?: readonly Cell[];
  readonly figures?: readonly KeyFigure[];
  /** Remarks to consider. */
  readonly notes?: readonly Cell[];
  readonly blocks: readonly PageBlock[];
}

/** A result with its page. */
export interface Shown {
  readonly page: Page;
}

/** A key figure of a page, such as `99.9 %`, and the lines below it. */
export interface KeyFigure {
  readonly title: string;
  readonly figure: string;
  readonly under?: readonly string[];
}

/** A part of a page, with a note on how to read it. */
export interface PageBlock {
  readonly title?: string;
  readonly note?: string;
  /** A verbatim text; null if unknown. */
  readonly text?: string | null;
  readonly notes?: readonly Cell[];
  readonly curves?: Curves;
  readonly tables?: readonly ShownTable[];
  /** Blocks side by side, if there is room. */
  readonly pair?: readonly PageBlock[];
  /** Blocks that open on a click. */
  readonly folds?: readonly PageFold[];
}

export interface PageFold {
  readonly title: string;
  readonly about?: readonly Cell[];
  readonly isOpen?: boolean;
  readonly blocks: readonly PageBlock[];
}

/** A table on a page: as in a terminal, or with richer cells, and drawings. */
export interface ShownTable {
  /** Figures align right; wide columns are left out on a phone. */
  readonly columns: readonly {
    readonly heading: string;
    readonly align: 'left' | 'right';
    readonly isWide?: boolean;
  }[];
  /** The first cell names the row. A row with only a name is a heading for the rows after it. */
  readonly groups: readonly (readonly (readonly Cell[])[])[];
  /** From this group on, the first row of each group sums up others; default 1. */
  readonly firstSum?: number;
  readonly footnotes?: readonly string[] | undefined;
  /** Drawn next to the name of each row. */
  readonly drawings?: Drawings;
  /** On a phone, each cell shows its column's name. */
  readonly isBoard?: boolean;
}

export type { Cell };

/** A figure with its interval, to draw. */
export interface Figure {
  readonly value: number;
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
  readonly rows?: number | undefined;
}

/** Ends of a scale; a null side ends where the figures do. */
export type ScaleEnds = readonly [from: number | null, to: number | null] | 'around 0';

/** Figures with their intervals, on one scale; or shares of a total, by counts. One per row, group by group. */
export type Drawings =
  | { readonly figures: readonly (Figure | null)[]; readonly ends: ScaleEnds }
  | { readonly counts: readonly (readonly number[])[] };

/** Curves on one scale. */
export interface Curves {
  readonly ends: ScaleEnds;
  /** Values that the scale always includes. */
  readonly least?: readonly number[];
  /** Position of a dashed line. */
  readonly limit?: number;
  readonly curves: readonly {
    readonly name: string;
    readonly isSum: boolean;
    readonly points: readonly CurvePoint[];
  }[];
}

export interface CurvePoint {
  /** Distance from the left, 0 to 1. */
  readonly at: number;
  /** Name below the drawing; a point without one has no dot. */
  readonly label: string;
  readonly figure: Figure;
  /** Another run's value at this point. */
  readonly other?: number | undefined;
  /** Whether the reader has ticked it. */
  readonly isChosen?: boolean | undefined;
}

/** The results of `awb score` for a run, with details; for a scenario run, also every sample with its texts. */
export interface RunDocument extends Shown {
  readonly ref: string;
  readonly mode: string;
  /** Number of samples for which there is no room. */
  readonly leftOut?: number;
}

/** A figure of every sample: its name and the end of its scale; null if it has no scale on which larger is better. */
export type FigureScale = readonly [name: string, end: 5 | 100 | null];

/** The samples of a run, without their texts. Keys are short, since there are thousands of samples. */
export interface SampleList {
  readonly ref: string;
  readonly name: string;
  readonly lead: Lead;
  readonly domains: readonly { readonly domain: string; readonly name: string }[];
  readonly figures: readonly FigureScale[];
  /** Hashes of trajectories; samples refer to them by index. */
  readonly trajectories: readonly string[];
  /** In reading order: by domain, trajectory, turn, repeat and judgement. */
  readonly samples: readonly ListedSample[];
}

/** One judged row. Its `row-id` (`core/row-id.ts`) is `k`, `r` and `j` together. */
export interface ListedSample {
  readonly k: string;
  /** Repeat and judgement, from 0; absent if 0. */
  readonly r?: number | undefined;
  readonly j?: number | undefined;
  /** Indices in `domains` and `trajectories`. */
  readonly d: number;
  readonly g: number;
  /** Turn, from 1. */
  readonly t: number;
  /** Score; absent if there is none. */
  readonly v?: number | undefined;
  /** Figures, in the order of `figures`; absent if there are none. */
  readonly f?: readonly (number | null)[] | undefined;
  /** Why it failed: the class, and a sentence. */
  readonly x?: string | undefined;
  readonly y?: string | undefined;
  /** Flags; absent if there are none. */
  readonly l?: readonly string[] | undefined;
  /** Claims of determined facts that the prediction did not meet; absent if there are none. */
  readonly u?: readonly string[] | undefined;
  /** Number of determined facts in its checklist. */
  readonly o?: number | undefined;
  /** The judge's first weakness, on one line; absent if there is none. */
  readonly n?: string | undefined;
  /** In a rollout: the distance from the last true observation. */
  readonly s?: number | undefined;
}

/** The texts of the rows of one trajectory, without duplicates, since turns share their history. Numbers are indices in `strings`. */
export interface TrajectoryTexts {
  readonly strings: readonly string[];
  /** By record id (`rowId`). */
  readonly rows: Readonly<Record<string, SampleTexts>>;
  /** Why texts or histories are missing; absent if all are there. */
  readonly missing?: string | undefined;
}

export interface SampleTexts {
  readonly truth: number;
  readonly action: number;
  /** Action and observation of each earlier turn; absent if the document has no room for histories. */
  readonly history?: readonly number[] | undefined;
  readonly system?: number | undefined;
  /** As shown to the judge; absent if nothing was predicted. */
  readonly prediction?: number | undefined;
  /** The model's raw reply, if it differs. */
  readonly reply?: number | undefined;
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  readonly facts?: readonly Fact[] | undefined;
  /** The judge's raw reply, and its reasoning. */
  readonly judgeReply?: number | undefined;
  readonly judgeThoughts?: number | undefined;
  /** Cost of prediction and judgement, a line each. */
  readonly spent?: readonly string[] | undefined;
  /** The request to the world model, rebuilt from its parts; absent if that is not possible. */
  readonly request?: RequestAgain | undefined;
  /** Commands to ask and judge this row again. */
  readonly commands: readonly string[];
}

/** A request as it would be sent now. API keys are left out. */
export interface RequestAgain {
  readonly url: string;
  /** The body without its messages. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly messages: readonly { readonly role: string; readonly content: number }[];
}

/** The only document of the rating page; its name is `rating`. */
export interface RatingDocument {
  /** Name and version of the program. */
  readonly tool: string;
  readonly title: string;
  /** The browser's storage key for the progress. */
  readonly store: string;
  /** The run's name; null if names are hidden. */
  readonly run: string | null;
  /** The texts of all samples, without duplicates. */
  readonly strings: readonly string[];
  readonly samples: readonly RatingSample[];
}

/** A sample to rate; its texts are indices in `strings`. */
export interface RatingSample extends Pick<SampleTexts, 'truth' | 'action' | 'history' | 'system' | 'prediction'> {
  readonly key: string;
  readonly repeat: number;
  readonly trajectory: string;
  readonly domain: string;
  /** Its name on the page. */
  readonly title: string;
  /** SHA-256 hex of the prediction as shown to the judge. */
  readonly sha256: string;
  /** The judge's ratings: `JudgeSays` as JSON in base64, so that nobody reads them too early, not even in the page's source. */
  readonly judge: string;
}

/** The judge's ratings and remarks on a sample. */
export interface JudgeSays {
  /** In the order of `DIMENSIONS`; null if there is none. Several judgements are averaged. */
  readonly ratings: readonly (number | null)[];
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
}

/** A run compared with another, or checked against requirements. */
export interface CompareDocument extends Shown {
  /** The output of `awb gate --json`, and the comparison's result in a sentence; null if nothing could be decided. */
  readonly gate: (z.infer<typeof GATE> & { readonly opening: string | null }) | null;
}

/** The output of `awb leaderboard --json`. */
export type LeaderboardDocument = z.infer<typeof LEADERBOARD> & Shown;

/** The output of `awb calibrate --json`. */
export type ShownCalibration = CalibrationDocument & Shown;
