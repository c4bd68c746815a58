// The judgings of a panel joined: of every prediction what each judge gave, and what the panel says of it.

import { isUnasked, type NoJudgement } from '../../core/judgement.js';
import { countedRating, isModelCaused, isRated, ratingToPoints } from '../../core/points.js';
import { present } from '../../core/present.js';
import { DIMENSIONS, type JudgedRow, type Measures, type Ratings } from '../../core/types.js';
import {
  combinedRating,
  type Offsets,
  offsetsDocument,
  offsetsOf,
  type PanelCase,
  type PanelDocument,
  type PanelJudge,
  type PanelRating,
  type PanelRule,
  panelAgreement,
  totalOf,
} from '../../stats/agreement/panel.js';
import { mean } from '../../stats/mean.js';
import type { Member, PlacedRow } from './members.js';

/** What one judge gave one prediction. */
export type Voice =
  | { readonly status: 'rated'; readonly ratings: Ratings; readonly measures: Measures }
  | { readonly status: 'failed'; readonly failure: NoJudgement }
  | { readonly status: 'absent' };

/** What the panel says of a prediction that has a row in its file. */
type Outcome =
  | { readonly status: 'rated'; readonly rating: PanelRating; readonly measures: Measures }
  | { readonly status: 'failed'; readonly failure: NoJudgement };

/** A prediction of the panel, and where each member has its lines. */
export interface PanelRow extends PanelCase {
  readonly voices: readonly Voice[];
  readonly lines: readonly (readonly PlacedRow[])[];
  /** Absent where the panel has no row of it: a judge has none, and too few are left. */
  readonly outcome: Outcome | undefined;
}

interface Joined {
  /** In the order of the first member, behind them what only others have. */
  readonly rows: readonly PanelRow[];
  readonly panel: PanelDocument;
  /** Under a quorum. */
  readonly offsets: Offsets | undefined;
}

/** How far draws of the intervals go; their seed is fixed, so that a panel is the same each time. */
const RESAMPLING = { draws: 2000, seed: 1 };

export function joinMembers(members: readonly Member[], rule: PanelRule): Joined {
  const ids = new Set(members.flatMap(({ predictions }) => [...predictions.keys()]));
  const cases = [...ids].map((id) => caseOf(members.map(({ predictions }) => predictions.get(id) ?? [])));
  // What the model caused says nothing of the judges.
  const rateable = cases.filter(({ voices }) => modelCaused(voices) === undefined);
  const offsets = offsetsOf(rateable);
  const rows = cases.map((one): PanelRow => ({ ...one, outcome: outcomeOf(one, members, rule, offsets) }));
  const judges = members.map((member, judge) => judgeOf(member, judge, rateable, cases));
  const rated = rows.flatMap(({ outcome }) => (outcome?.status === 'rated' ? [outcome.rating] : []));
  const failed = rows.flatMap(({ outcome }) => (outcome?.status === 'failed' ? [outcome.failure] : []));
  const caused = failed.filter(({ class: failure }) => isModelCaused(failure)).length;
  const panel: PanelDocument = {
    judges,
    combine: rule.combine,
    quorum: rule.quorum ?? null,
    predictions: rows.length,
    rated: rated.length,
    by_fewer: rated.filter(({ judges: count }) => count < members.length).length,
    model_caused: caused,
    missing: failed.length - caused,
    not_judged: rows.filter(({ outcome }) => outcome === undefined).length,
    offsets: rule.quorum === undefined ? null : offsetsDocument(offsets),
    agreement: panelAgreement(rateable, RESAMPLING),
  };
  return { rows, panel, offsets: rule.quorum === undefined ? undefined : offsets };
}

type Case = Omit<PanelRow, 'outcome'>;

function caseOf(lines: PanelRow['lines']): Case {
  const { domain, trajectory } = present(lines.find((rows) => rows.length > 0)?.[0]).row;
  const voices = lines.map((placed) => voiceOf(placed.map(({ row }) => row)));
  const given = voices.map((voice) => (voice.status === 'rated' ? voice.ratings : undefined));
  return { domain, trajectory, voices, given, lines };
}

/** What a judge gave in all of its judgements of a prediction: they are averaged, a failure that the model caused at rating 1. */
function voiceOf(rows: readonly JudgedRow[]): Voice {
  const [first] = rows;
  if (first === undefined) return { status: 'absent' };
  const ratings: Ratings = {};
  if (rows.some(isRated)) {
    for (const dimension of DIMENSIONS) {
      const values = rows.flatMap((row) => countedRating(row, dimension) ?? []);
      if (values.length > 0) ratings[dimension] = mean(values);
    }
  }
  if (Object.keys(ratings).length > 0)
    return {
      status: 'rated',
      ratings,
      measures: meanMeasures(rows.flatMap(({ measures }) => (measures ? [measures] : []))),
    };
  const failures = rows.flatMap(({ failure }) => failure ?? []);
  const failure = failures.find(({ class: cause }) => isModelCaused(cause)) ?? failures[0];
  return { status: 'failed', failure: failure ?? { class: 'unreadable', reason: 'the row holds no rating of 1 to 5' } };
}

/** The mean of each measure over those that have it. */
function meanMeasures(all: readonly Measures[]): Measures {
  const names = new Set(all.flatMap((measures) => Object.keys(measures)));
  return Object.fromEntries([...names].map((name) => [name, mean(all.flatMap((measures) => measures[name] ?? []))]));
}

/** The failure that the world model caused, whichever judge met it: it is the prediction's, and counts for all of them. */
function modelCaused(voices: readonly Voice[]): NoJudgement | undefined {
  const failures = voices.flatMap((voice) => (voice.status === 'failed' ? [voice.failure] : []));
  return failures.find(({ class: failure }) => isModelCaused(failure));
}

function outcomeOf(one: Case, members: readonly Member[], rule: PanelRule, offsets: Offsets): Outcome | undefined {
  const caused = modelCaused(one.voices);
  if (caused !== undefined) return { status: 'failed', failure: caused };
  const rating = combinedRating(one, rule, offsets);
  if (rating !== undefined) {
    const rated = one.voices.flatMap((voice) => (voice.status === 'rated' ? [voice.measures] : []));
    return { status: 'rated', rating, measures: meanMeasures(rated) };
  }
  if (one.voices.some(({ status }) => status === 'absent')) return undefined;
  const at = one.voices.findIndex(({ status }) => status === 'failed');
  const voice = one.voices[at];
  if (voice?.status !== 'failed') {
    const reason = 'no dimension was rated by enough judges';
    return { status: 'failed', failure: { class: 'unreadable', reason } };
  }
  // For want of a prediction no judge was asked.
  if (isUnasked(voice.failure.class)) return { status: 'failed', failure: voice.failure };
  const rated = one.given.filter((ratings) => ratings !== undefined).length;
  const reason = `${rated} of ${members.length} judges rated it; ${present(members[at]).name}: ${voice.failure.reason}`;
  return { status: 'failed', failure: { class: voice.failure.class, reason } };
}

function judgeOf(
  { name, shown }: Member,
  judge: number,
  rateable: readonly Case[],
  cases: readonly Case[],
): PanelJudge {
  const count = (status: Voice['status']) => cases.filter(({ voices }) => voices[judge]?.status === status).length;
  const whole = rateable.filter(({ given }) => given.every((ratings) => ratings !== undefined));
  const totals = whole.flatMap(({ given }) => totalOf(given[judge]) ?? []);
  return {
    name,
    file: shown,
    rated: count('rated'),
    failed: count('failed'),
    absent: count('absent'),
    mean_total: totals.length === 0 ? null : ratingToPoints(mean(totals)),
  };
}
