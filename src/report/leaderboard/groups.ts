// Runs -> groups of what was judged alike, which alone may stand beside each other, and their titles.

import { canonicalJson } from '../../core/json.js';
import { measureWords } from '../../core/measures.js';
import { oneLine, printable } from '../../core/printable.js';
import { PUBLISHED_SOURCE } from '../published.js';
import { capitalized } from '../score-table.js';
import type { BoardOptions, BoardRun, JudgedWith } from './board.js';
import { nameOf } from './runs.js';

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
  const groups = new Map<string, Group & { readonly runs: BoardRun[] }>();
  const add = (run: BoardRun) => {
    const key = canonicalJson([run.judgedWith, isRecorded(run) || options.assumeSame ? '' : run.id]);
    const group = groups.get(key) ?? { judgedWith: run.judgedWith, runs: [], isRecorded: isRecorded(run) };
    groups.set(key, group);
    group.runs.push(run);
  };
  for (const run of runs.filter((each) => !each.isBaseline)) add(run);
  const ofModels = [...groups.values()];
  for (const run of runs.filter((each) => each.isBaseline)) {
    const own = canonicalJson(run.judgedWith);
    const alike = ofModels.filter(({ judgedWith }) => canonicalJson({ ...judgedWith, protocol: undefined }) === own);
    if (alike.length === 0) add(run);
    for (const group of alike) group.runs.push(run);
  }
  const found: Group[] = [...groups.values()];
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
  const short = groups.map((group) => [group, titleOf(group, options, false)] as const);
  return short.map(([group, title]) => {
    const alike = short.filter(([, other]) => other === title);
    return [group, alike.length > 1 ? titleOf(group, options, true) : title];
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
