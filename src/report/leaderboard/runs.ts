// The runs of a leaderboard: their form, their names, which were judged alike and share a block, and which are shown.

import { groupBy } from '../../core/groups.js';
import { canonicalJson } from '../../core/json.js';
import { goodness, type MeasureLookup, measureWords } from '../../core/measures.js';
import { oneLine, printable } from '../../core/printable.js';
import type { Column } from '../../core/table.js';
import type { Domain, Estimate } from '../../core/types.js';
import type { MadeWith } from '../../run/made-with.js';
import { byStanding } from '../../stats/coverage.js';
import type { StoredRun } from '../../store/runs.js';
import { PUBLISHED_SOURCE, type PublishedRow } from '../published.js';
import { capitalized } from '../score-table.js';
import type { Trust } from '../trust.js';

/** What a run's figures depend on other than its world model. Runs that differ in any of it never share a block. */
export interface JudgedWith extends Partial<Pick<MadeWith, AsMade>> {
  /** `rubric`, `metrics` ... */
  readonly kind: string;
  /** Whether rows were rated; else they were only measured. */
  readonly rates: boolean;
  /** The declared main measure of rows that were measured, if any. */
  readonly lead?: string | undefined;
  /** Present if an agent was asked instead of a judge. */
  readonly asked?: 'agent' | undefined;
  /** How replies were read: `strict` or `official`. */
  readonly verdicts?: string | undefined;
}

type AsMade =
  | 'judge'
  | 'snapshot'
  | 'rubricPack'
  | 'rubricFingerprint'
  | 'method'
  | 'sampling'
  | 'protocol'
  | 'rollout';

type Scores = Pick<StoredRun, 'label' | 'worldModel' | 'source' | 'card'> &
  Partial<Pick<StoredRun, 'costs' | 'equivalence'>>;

/** A run for the leaderboard. Its texts may be hostile. */
export interface BoardRun extends Scores {
  /** Unique. */
  readonly id: string;
  /** Its SQLite file, and its number there. */
  readonly db: string;
  readonly number: number;
  readonly judgedWith: JudgedWith;
  /** The trust in its judge; absent if it asked none. */
  readonly trust?: Trust | undefined;
  /** Whether it is a baseline's run, which has no protocol and is listed with the runs of each. */
  readonly isBaseline: boolean;
  /** When it was judged, in ISO 8601. */
  readonly at: string;
  /** The checkpoint's step as given by the user; it distinguishes runs of one label. */
  readonly step?: string | undefined;
}

/** The figure of a column: of one domain, or if absent the mean over domains. */
interface FigureOf {
  readonly domain?: Domain;
  /** A dimension, `total`, or a measure. */
  readonly name: string;
}

/**
 * Whether a run cannot be distinguished from the best of `runs` in a figure: the paired difference on their common rows does not show it
 * to be worse. The test allows for the best having been chosen by the same figures. Undefined if it cannot be tested.
 */
export type IsTied = (best: BoardRun, other: BoardRun, figure: FigureOf, runs: number) => boolean | undefined;

export interface BoardOptions {
  /** Of runs with one name, the latest, the best, or all. */
  readonly show: 'latest' | 'best' | 'all';
  /** The name of a run: its label (or else its model), or its model. */
  readonly per: 'label' | 'model';
  /** A column's id; Overall if absent. Figures are sorted best first, texts ascending. */
  readonly sort?: string | undefined;
  /** Ids of columns to show after the name; the default ones if empty. */
  readonly columns: readonly string[];
  /** Adds the five dimensions, each a mean over domains. */
  readonly dimensions: boolean;
  /** The measure shown for measured runs, such as `chrf`; their main measure if absent. */
  readonly measure?: string | undefined;
  /** The meaning of measures. */
  readonly measureOf: MeasureLookup;
  /** Least coverage of each domain, and least share of the most rows that a run has in it, 0 to 1; runs below are neither tested nor marked. */
  readonly minCoverage: number;
  readonly withPublished: boolean;
  /** Assume that an unrecorded judge or protocol was the same in all runs. */
  readonly assumeSame: boolean;
}

/** A score of 0-100, a measure, dollars or tokens; a published one only has a value. */
export type BoardFigure = Pick<Estimate, 'value'> &
  Partial<Estimate> & {
    /** The same by the official script, which leaves out failures of the model; absent if there is no such figure. */
    readonly official?: number | undefined;
    /** Set if the value is a lower bound, since part of it is unknown. */
    readonly isLeast?: true;
  };

/** A column of texts or, if `figure` is given, of figures. */
export interface BoardColumn extends Column {
  readonly id: string;
  /** How to read it. */
  readonly legend?: string;
  readonly figure?: FigureOf;
  /** Whether it is a mean over domains, which is only comparable over the same domains. */
  readonly isMean?: boolean;
  /** Whether runs are tested against each other in it. */
  readonly isTested?: boolean;
  /** Whether a smaller figure is better, regardless of the block's measure. */
  readonly isLowerBetter?: boolean;
  figureOf?(run: Pick<OwnEntry, 'run' | 'mean' | 'rows'>): BoardFigure | undefined;
  /** The text of a row; for figures only if it is more than the value. */
  textOf?(entry: Entry, figure?: BoardFigure): string;
}

/** A run or a published row, before columns are marked. */
export interface Entry {
  readonly name: string;
  /** Absent for a published row. */
  readonly run?: BoardRun | undefined;
  readonly published?: PublishedRow;
  /** Whether every domain reaches the least coverage. */
  readonly isComplete: boolean;
  /** Domains in which it has fewer rows than another run of its block, so that it is ranked after those and not tested. */
  readonly fewer: readonly Domain[];
  /** The rows in each domain's figure, not counting repeats. */
  readonly rows: ReadonlyMap<Domain, number>;
  /** Number of domains in its mean. */
  readonly macroOf: number;
  /** The mean over domains, by which runs are chosen, sorted and tested. Failures are at rating 1, so that failing never pays. */
  readonly mean: BoardFigure | undefined;
  /** By column id; missing figures are absent. */
  readonly figures: ReadonlyMap<string, BoardFigure>;
}

/** The entry of a run. */
export type OwnEntry = Entry & { readonly run: BoardRun };

/** Longest name that is not shortened. */
export const NAME_COLUMNS = 100;

/** A run's own name, on one line. */
function nameOf(run: BoardRun, per: BoardOptions['per']): string {
  const names = per === 'label' ? [run.label, run.worldModel] : [run.worldModel, run.label];
  const name = names.map((text) => oneLine(text ?? '', NAME_COLUMNS)).find((text) => text !== '');
  return name ?? oneLine(run.source.split(/[/\\]/).slice(-2).join('/'), NAME_COLUMNS);
}

/** The names of runs. A name that several have is followed by step and number, and by the file if they are in several. */
export function namesOf(runs: readonly BoardRun[], { per }: BoardOptions): ReadonlyMap<BoardRun, string> {
  const named = [...groupBy(runs, (run) => nameOf(run, per))].flatMap(([name, alike]) => {
    const isOneFile = new Set(alike.map(({ db }) => db)).size === 1;
    return alike.map((run) => {
      const step = run.step === undefined ? '' : `step ${oneLine(run.step, 20)}, `;
      const number = `run ${run.number}${isOneFile ? '' : ` of ${oneLine(run.db, 40)}`}`;
      return [run, alike.length === 1 ? name : `${name} (${step}${number})`] as const;
    });
  });
  return new Map(named);
}

/** A run's name for comparisons: unchanged, not as shown. */
function keyOfName({ label, worldModel, source }: BoardRun, per: BoardOptions['per']): string {
  return (per === 'label' ? (label ?? worldModel) : (worldModel ?? label)) ?? `file ${source}`;
}

/** Runs that were judged alike. */
export interface Group {
  readonly judgedWith: JudgedWith;
  readonly runs: readonly BoardRun[];
  readonly isRecorded: boolean;
}

const OFFICIAL: JudgedWith = {
  kind: 'rubric',
  rates: true,
  judge: PUBLISHED_SOURCE.judge,
  rubricPack: 'official',
  verdicts: 'official',
  protocol: 'history',
};

/** Whether runs were judged as the published rows were. Sampling does not matter: newer APIs refuse what the official script sends. */
export function isOfficial(judged: JudgedWith): boolean {
  const { kind, rates, judge, snapshot, rubricPack, verdicts, protocol, rollout } = judged;
  const asked = { kind, rates, judge: snapshot ?? judge, rubricPack, verdicts, protocol, rollout };
  return canonicalJson(asked) === canonicalJson(OFFICIAL);
}

/** Groups of runs that were judged alike: the official one first, then those with ratings, then by size. */
export function groupsOf(runs: readonly BoardRun[], options: BoardOptions): Group[] {
  const aloneOf = (run: BoardRun) => (isRecorded(run) || options.assumeSame ? '' : run.id);
  const alikeIn = (some: readonly BoardRun[]) =>
    [...groupBy(some, (run) => canonicalJson([run.judgedWith, aloneOf(run)])).values()].map((own) => ({
      judgedWith: own[0].judgedWith,
      runs: [...own],
      isRecorded: isRecorded(own[0]),
    }));
  const ofModels = alikeIn(runs.filter(({ isBaseline }) => !isBaseline));
  // A baseline has no protocol and is listed with the runs of each; if there are none, with other baselines.
  const alone: BoardRun[] = [];
  for (const run of runs.filter(({ isBaseline }) => isBaseline)) {
    const own = canonicalJson(run.judgedWith);
    const hosts = ofModels.filter(({ judgedWith }) => canonicalJson({ ...judgedWith, protocol: undefined }) === own);
    if (hosts.length === 0) alone.push(run);
    for (const { runs: beside } of hosts) beside.push(run);
  }
  const found: Group[] = [...ofModels, ...alikeIn(alone)];
  if (options.withPublished && !found.some(({ judgedWith }) => isOfficial(judgedWith))) {
    found.push({ judgedWith: OFFICIAL, runs: [], isRecorded: true });
  }
  const rank = ({ judgedWith }: Group) => (isOfficial(judgedWith) ? 0 : judgedWith.rates ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b) || b.runs.length - a.runs.length);
}

/** Whether it is recorded how a run was made. The official script's files name no judge, and its predictions no protocol. */
function isRecorded({ judgedWith, isBaseline }: BoardRun): boolean {
  const knowsJudge = !judgedWith.rates || judgedWith.judge !== undefined;
  return knowsJudge && (judgedWith.protocol !== undefined || isBaseline);
}

/** The measure that a group's block shows; undefined if its runs have ratings. Runs without the requested measure show their own. */
export function shownMeasure({ judgedWith, runs }: Group, { measure }: BoardOptions): string | undefined {
  if (judgedWith.rates) return undefined;
  const known = measuresIn(runs);
  const wanted = [measure, judgedWith.lead].filter((name) => name !== undefined);
  return wanted.find((name) => known.includes(name)) ?? known[0] ?? wanted[0] ?? 'measure';
}

/** The measures of runs, in order of appearance. */
export function measuresIn(runs: readonly BoardRun[]): string[] {
  return [...new Set(runs.flatMap(({ card }) => Object.keys(card.overallMeasures)))];
}

/** Each group with its title. The judge's sampling is included if nothing else distinguishes two groups. */
export function titled(groups: readonly Group[], options: BoardOptions): (readonly [Group, string])[] {
  const alike = groupBy(groups, (group) => titleOf(group, options, false));
  return groups.map((group) => {
    const title = titleOf(group, options, false);
    return [group, (alike.get(title)?.length ?? 0) > 1 ? titleOf(group, options, true) : title];
  });
}

function titleOf(group: Group, options: BoardOptions, withSampling: boolean): string {
  const { judgedWith, runs, isRecorded } = group;
  const { judge, asked, snapshot, rubricPack, rubricFingerprint, verdicts, sampling, protocol, rollout } = judgedWith;
  // A panel is named after its judges and its rule; like sampling, its members' settings are only added to distinguish panels.
  const { members, combine: _combine, quorum: _quorum, ...method } = judgedWith.method ?? {};
  const name = (text: string) => oneLine(text, 60);
  const judgeText = snapshot === undefined || snapshot === judge ? judge : `${judge} (${snapshot})`;
  const measure = shownMeasure(group, options);
  const parts =
    measure !== undefined
      ? [
          `${capitalized(measureWords(options.measureOf(measure)).one)} ${name(measure)}`,
          judgeText === undefined ? 'no judge' : `${asked ?? 'judge'} ${name(judgeText)}`,
        ]
      : [
          judgeText === undefined ? 'Judge not recorded' : `Judge ${name(judgeText)}`,
          rubricPack && `rubric pack ${name(rubricPack)} ${printable(rubricFingerprint ?? '').slice(0, 8)}`.trim(),
          verdicts && `verdicts ${name(verdicts)}`,
        ];
  const valueText = (value: unknown) => (typeof value === 'string' ? value : canonicalJson(value));
  parts.push(...Object.entries(method).map(([field, value]) => name(`${field} ${valueText(value)}`)));
  if (withSampling && sampling !== undefined) parts.push(`sampling ${name(canonicalJson(sampling))}`);
  if (withSampling && members !== undefined) parts.push(`members ${oneLine(canonicalJson(members), 400)}`);
  if (protocol !== undefined) parts.push(`protocol ${name(protocol)}`);
  else if (!isRecorded) parts.push('protocol not recorded');
  if (rollout !== undefined) parts.push(name(rollout));
  if (!isRecorded && !options.assumeSame) parts.push(...runs.map((run) => nameOf(run, 'label')));
  return parts.filter((part) => part !== undefined).join(', ');
}

/** How good a figure is, as a number that grows with quality; undefined if no direction is better. */
export type Rank = (figure: BoardFigure) => number | undefined;

/** Larger scores are better; measures declare their direction. */
export function rankBy({ measureOf }: BoardOptions, measure: string | undefined): Rank {
  return ({ value }) => (measure === undefined ? value : goodness(measureOf(measure), value));
}

export type Order = (a: Entry, b: Entry) => number;

/** Best first, by a number that grows with quality. */
export function fromBest(a: number | undefined, b: number | undefined): number {
  return (b ?? Number.NEGATIVE_INFINITY) - (a ?? Number.NEGATIVE_INFINITY) || 0;
}

/** Complete runs first, then by the best mean; descending by value if no direction is better. */
export function byMean(rank: Rank): Order {
  const place = ({ mean }: Entry) => mean && (rank(mean) ?? mean.value);
  return (a, b) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(b.figures.has('overall')) - Number(a.figures.has('overall')) ||
    b.macroOf - a.macroOf ||
    fromBest(place(a), place(b)) ||
    compared(a.name, b.name);
}

export function compared(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** One run for each name, or all. Names are compared unchanged, not as shown. */
export function chosenRuns(runs: readonly OwnEntry[], options: BoardOptions, rank: Rank): readonly OwnEntry[] {
  const { show, per, minCoverage } = options;
  if (show === 'all') return runs;
  const fewerOf = fewerRows(runs, options);
  const standing = ({ run }: OwnEntry) => ({ ...run, rates: run.judgedWith.rates });
  const byLatest = (a: OwnEntry, b: OwnEntry) => byStanding(standing(a), standing(b), minCoverage);
  const order = show === 'best' ? byMean(rank) : byLatest;
  const all = runs.map((run) => ({ ...run, fewer: fewerOf(run) }));
  return [...groupBy(all, ({ run }) => keyOfName(run, per)).values()].map((alike) =>
    alike.reduce((first, one) => (order(one, first) < 0 ? one : first)),
  );
}

/**
 * The domains in which a run has so many fewer rows than another that its figures are not comparable: its share of the most rows is
 * below the least coverage. Otherwise a run that was asked only easy rows would be ranked above all others.
 */
export function fewerRows(runs: readonly Entry[], { minCoverage }: BoardOptions): (run: Entry) => readonly Domain[] {
  const most = (domain: Domain) => Math.max(...runs.map(({ rows }) => rows.get(domain) ?? 0));
  return ({ rows }) => [...rows].flatMap(([domain, own]) => (own < minCoverage * most(domain) ? [domain] : []));
}
