// A run in the viewer's list: how it was made, its leading figure, and which runs it can be compared with.

import { wholeCost } from '../core/costs.js';
import { domainName } from '../core/domains.js';
import { fingerprintOf } from '../core/identity.js';
import { canonicalJson } from '../core/json.js';
import { DEFAULT_MEASURE } from '../core/measures.js';
import { askedName, type ScoreCard } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { decimalsOf, leadingMeasure, overallName } from '../report/score-table.js';
import { trustText } from '../report/trust.js';
import { namesOf, type ReadRun } from '../results/read-run.js';
import type { MadeWith } from '../run/made-with.js';
import { isCovered } from '../stats/coverage.js';
import type { ListedRun } from './documents.js';

/** Digits of a run's id in addresses. */
export const REF_DIGITS = 12;

/** The state of a run before its judged file is read. */
export const NOT_SCORED = 'not scored';

/** A run's name in addresses; it survives renaming, moving and rescoring. */
export function refOf(run: Pick<ReadRun, 'made' | 'manifest' | 'sha256'>): string {
  return namesOf(run).id.slice(0, REF_DIGITS);
}

/** A run's leading figure, as in `awb score`, over all rows and by domain. */
export function leadingOf(card: ScoreCard): Pick<ListedRun, 'lead' | 'overall' | 'domains'> {
  const name = leadingMeasure(card, measureOf);
  const measure = name === undefined ? DEFAULT_MEASURE : measureOf(name);
  const [from = 0, to = 0] = measure.range;
  const { better } = measure;
  return {
    lead: {
      name: name ?? overallName(card),
      decimals: decimalsOf(measure),
      from: Number.isFinite(from) ? from : null,
      to: Number.isFinite(to) ? to : null,
      better: typeof better === 'string' ? better : 'neither',
    },
    overall: (name === undefined ? card.overallWithFailures.total : card.overallMeasures[name]) ?? null,
    domains: card.domains.map(({ domain, withFailures, measures }) => ({
      domain,
      name: domainName(domain),
      estimate: (name === undefined ? withFailures.total : measures[name]) ?? null,
    })),
  };
}

/** A run before its judged file is read: the facts from its manifest. @param date ISO 8601 */
export function unreadRun(ref: string, name: string, made: MadeWith, date: string): ListedRun {
  const { step, ...meta } = made.meta;
  const number = step === undefined || step.trim() === '' ? Number.NaN : Number(step);
  const { worldModel = null, rollout, judgeName = null, rubricPack = null, shares, mode } = made;
  const alike = canonicalJson([mode, shares, rollout ?? null]);
  return {
    ref,
    name,
    mode,
    worldModel,
    protocol: askedName(made.protocol, rollout) ?? null,
    judge: judgeName,
    rubricPack,
    lead: { name: 'Overall', decimals: 1, from: 0, to: 100, better: 'larger' },
    overall: null,
    domains: [],
    coverage: 0,
    state: NOT_SCORED,
    usd: null,
    date,
    trust: null,
    series: Number.isFinite(number) ? fingerprintOf({ alike, worldModel, meta }) : null,
    step: Number.isFinite(number) ? number : null,
    judgedAlike: fingerprintOf({ alike }),
  };
}

/** A run with its figures. @param date when it was judged, in ISO 8601 */
export function listedRun(run: Omit<ReadRun, 'rows'>, date: string): ListedRun {
  const { name, made, card, trust, costs } = run;
  const spent = [costs.world_model, costs.judge].flatMap((side) => (side === undefined ? [] : [side.total]));
  const usd = spent.map(wholeCost);
  return {
    ...unreadRun(refOf(run), name, made, date),
    ...leadingOf(card),
    coverage: card.coverage,
    state: isCovered(card) ? 'complete' : 'incomplete',
    usd: usd.length === 0 || usd.includes(undefined) ? null : usd.reduce<number>((sum, one = 0) => sum + one, 0),
    trust: trust === undefined ? null : trustText(trust).replace(/^judge: /, ''),
  };
}
