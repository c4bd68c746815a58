// The runs of a leaderboard: what they are called, which were judged alike and may stand beside each other, and which of them are shown.

import { groupBy } from '../../core/groups.js';
import { canonicalJson } from '../../core/json.js';
import { goodness, measureWords } from '../../core/measures.js';
import { oneLine, printable } from '../../core/printable.js';
import type { Domain } from '../../core/types.js';
import { byStanding } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import { capitalized } from '../score-table.js';
import type { BoardFigure, BoardOptions, BoardRun, Entry, JudgedWith, OwnEntry } from './board.js';

/** Longest name that is shown whole. */
export const NAME_COLUMNS = 100;

/** A run's own name, of one line. */
function nameOf(run: BoardRun, per: BoardOptions['per']): string {
  const names = per === 'label' ? [run.label, run.worldModel] : [run.worldModel, run.label];
  const name = names.map((text) => oneLine(text ?? '', NAME_COLUMNS)).find((text) => text !== '');
  return name ?? oneLine(run.source.split(/[/\\]/).slice(-2).join('/'), NAME_COLUMNS);
}

/** The names of runs. Behind one that several have stand step and number, and the file where they lie in several. */
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

/** What a run's name is compared by: as it is, not as it is shown. */
export function keyOfName({ label, worldModel, source }: BoardRun, per: BoardOptions['per']): string {
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
  // A baseline was asked under no protocol, and stands beside the runs of each; where there are none, with its like.
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

/** Whether it is known how a run came about. The official script's files name no judge, and its predictions no protocol. */
function isRecorded({ judgedWith, isBaseline }: BoardRun): boolean {
  const knowsJudge = !judgedWith.rates || judgedWith.judge !== undefined;
  return knowsJudge && (judgedWith.protocol !== undefined || isBaseline);
}

/** The measure that a group's block shows; undefined where its runs have ratings. Runs without the one that is asked for show their own. */
export function shownMeasure({ judgedWith, runs }: Group, { measure }: BoardOptions): string | undefined {
  if (judgedWith.rates) return undefined;
  const known = measuresIn(runs);
  const wanted = [measure, judgedWith.lead].filter((name) => name !== undefined);
  return wanted.find((name) => known.includes(name)) ?? known[0] ?? wanted[0] ?? 'measure';
}

/** The measures that runs have, in the order in which they are met. */
export function measuresIn(runs: readonly BoardRun[]): string[] {
  return [...new Set(runs.flatMap(({ card }) => Object.keys(card.overallMeasures)))];
}

/** Each group with what it was judged with; the judge's sampling is named where nothing else tells two groups apart. */
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
  // A panel is named after its judges and its rule; how its judges were asked tells two panels apart as a sampling does.
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

/** How good a figure is, as a number that grows with it; undefined where neither way is better. */
export type Rank = (figure: BoardFigure) => number | undefined;

/** Scores are better the larger they are, measures as they are declared. */
export function rankBy({ measureOf }: BoardOptions, measure: string | undefined): Rank {
  return ({ value }) => (measure === undefined ? value : goodness(measureOf(measure), value));
}

/** One run for each name, or all. Names are compared as they are, not as they are shown. */
export function chosenRuns(runs: readonly OwnEntry[], options: BoardOptions, rank: Rank): readonly OwnEntry[] {
  const { show, per, minCoverage } = options;
  if (show === 'all') return runs;
  const fewerOf = fewerRows(runs, options);
  const value = ({ mean }: Entry) => (mean && rank(mean)) ?? Number.NEGATIVE_INFINITY;
  const standing = ({ run: { card, at, number, judgedWith } }: OwnEntry) => ({
    card,
    at,
    number,
    rates: judgedWith.rates,
  });
  // First by what they lack, then by their domains, then by their figures.
  const byFigure = (a: OwnEntry, b: OwnEntry) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(fewerOf(a).length > 0) - Number(fewerOf(b).length > 0) ||
    b.macroOf - a.macroOf ||
    value(b) - value(a);
  const byLatest = (a: OwnEntry, b: OwnEntry) => byStanding(standing(a), standing(b), minCoverage);
  const order = show === 'best' ? byFigure : byLatest;
  return [...groupBy(runs, ({ run }) => keyOfName(run, per)).values()].map((alike) =>
    alike.reduce((first, one) => (order(one, first) < 0 ? one : first)),
  );
}

/**
 * The domains in which a run has so many fewer rows than another that its figures are no longer comparable: its share of the most
 * rows is below the least coverage. Otherwise a run that was asked the easy rows alone would stand above all others.
 */
export function fewerRows(runs: readonly Entry[], { minCoverage }: BoardOptions): (run: Entry) => readonly Domain[] {
  const most = (domain: Domain) => Math.max(...runs.map(({ rows }) => rows.get(domain) ?? 0));
  return ({ rows }) => [...rows].flatMap(([domain, own]) => (own < minCoverage * most(domain) ? [domain] : []));
}
