// The documents that the web app shows, each under its name: a path of the viewer's server, a file of a bundle, or an element of a static page.

import type { Fact } from '../core/facts.js';
import type { Estimate } from '../core/types.js';
import type { RunStatus } from '../results/status.js';

/** What stands under each name. A run is named by its `ref`, which it keeps over renaming, moving and scoring again. */
export interface Documents {
  readonly index: Index;
  readonly [run: `run/${string}`]: RunDocument;
  readonly [samples: `samples/${string}`]: SampleList;
  /** `texts/REF/TRAJECTORY`: the texts of all rows of one trajectory (its place in `SampleList.trajectories`). */
  readonly [texts: `texts/${string}`]: TrajectoryTexts;
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
  /** Runs that have not ended well: at work, killed, incomplete. */
  readonly work: readonly RunStatus[];
  /** What could not be read, and why. */
  readonly unread: readonly { readonly place: string; readonly reason: string }[];
}

/** What a run leads with, as `awb score` does: the score with the model's failures at rating 1, or the measure of its mode. */
export interface Lead {
  /** `Overall`, or what the mean over fewer domains or of a measure is called. */
  readonly name: string;
  readonly decimals: number;
  /** Where its scale ends; null where it has no end. */
  readonly from: number | null;
  readonly to: number | null;
  readonly better: 'larger' | 'smaller' | 'neither';
}

/** A figure of a domain. `name` is what people call it. */
export interface DomainFigure {
  readonly domain: string;
  readonly name: string;
  readonly estimate: Estimate | null;
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
  readonly domains: readonly DomainFigure[];
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

/** The page of a run; its maker stands in run-document.ts. */
export interface RunDocument {
  readonly ref: string;
  readonly name: string;
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
  /** Whether some row was predicted, or some prediction judged, more than once. */
  readonly repeats: boolean;
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
