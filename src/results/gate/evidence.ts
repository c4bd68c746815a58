// What a gate is given to decide on: a comparison with a base, a published row, or the candidate alone.

import { type Cost, wholeCost } from '../../core/costs.js';
import { PROVENANCE } from '../../core/decision.js';
import { domainName } from '../../core/domains.js';
import { nearest, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { oneLine } from '../../core/printable.js';
import { DOMAINS } from '../../core/types.js';
import type { ShownRun } from '../../report/comparison/document.js';
import { PUBLISHED, PUBLISHED_SOURCE } from '../../report/published.js';
import { compareRuns } from '../../stats/compare.js';
import type { Bill, Evidence } from '../../stats/limits.js';
import { repeatsOf } from '../../stats/looks.js';
import type { Policy } from '../../stats/policy.js';
import { notesOn, nothingToCompare, sameBytesNote, sharedBy, shownRun } from '../comparability.js';
import { impossibleRows, type ReadRun } from '../read-run.js';

/** Who is held against what. */
export interface Sides {
  readonly candidate: ReadRun;
  readonly base?: ReadRun | undefined;
  /** Stands in place of a base. */
  readonly published?: PublishedBase | undefined;
}

const PUBLISHED_PREFIX = 'published:';

/** A row of the published table as the base of a gate. */
interface PublishedBase {
  readonly row: NonNullable<Evidence['published']>;
  readonly shown: ShownRun;
}

export function isPublished(name: string | undefined): name is string {
  return name?.startsWith(PUBLISHED_PREFIX) ?? false;
}

/** The published row of this name. @throws UserError (2) with the names there are. */
export function publishedBase(base: string): PublishedBase {
  const name = base.slice(PUBLISHED_PREFIX.length);
  const row = PUBLISHED.find(({ model }) => model.toLowerCase() === name.toLowerCase());
  if (row === undefined) {
    const models = PUBLISHED.map(({ model }) => model);
    const near = nearest(name, models);
    const hint = near === undefined ? `the published rows are ${models.join(', ')}` : `did you mean "${near}"?`;
    throw new UserError(`there is no published row "${oneLine(name, 80)}"; ${hint}`);
  }
  const { text: source, judge } = PUBLISHED_SOURCE;
  return {
    row: { name: row.model, scores: Object.fromEntries(row.scores) },
    shown: { name: `published ${row.model}`, source, judge, rubricPack: 'official' },
  };
}

/**
 * What the sides show, and what a reader has to know of them.
 * @throws UserError (65) where no row can be compared.
 */
export function evidenceOf(sides: Sides, policy: Policy): { readonly evidence: Evidence; readonly notes: string[] } {
  const { base, candidate, published } = sides;
  const impossible = { base: base === undefined ? 0 : impossibleRows(base), candidate: impossibleRows(candidate) };
  const repeats = { base: base && repeatsOf(base.rows), candidate: repeatsOf(candidate.rows) };
  const own = { candidate: candidate.card, usage: usageOf(candidate), impossible, repeats };
  if (published !== undefined)
    return { evidence: { ...own, published: published.row }, notes: publishedNotes(candidate) };
  if (base === undefined) return { evidence: own, notes: [] };
  const pair = { base, candidate };
  const comparison = compareRuns(base, candidate, { moved: 0 });
  if (comparison.status !== 'ok') {
    // Where all ratings are impossible, the gate says so itself.
    if (impossible.base + impossible.candidate > 0) return { evidence: own, notes: [] };
    throw nothingToCompare(pair, comparison.reason);
  }
  const shared = sharedBy(pair);
  const known = PROVENANCE.filter((name) => shared[name].state !== 'unknown');
  const states: Evidence['shared'] = Object.fromEntries(known.map((name) => [name, shared[name].state]));
  const allowed = PROVENANCE.filter((name) => !policy.requireEqual.includes(name));
  return {
    evidence: { ...own, comparison, shared: states },
    notes: [...sameBytesNote(pair), ...notesOn(shared, allowed)],
  };
}

/** The world model's tokens a row, and what it and the judge cost. */
function usageOf({ costs, made }: ReadRun): NonNullable<Evidence['usage']> {
  const { rows = 0, usage } = costs.world_model?.total ?? {};
  const cost = billOf(costs.world_model?.total, made.meta.cost);
  const judgeCost = billOf(costs.judge?.total);
  return {
    ...(usage?.completionTokens === undefined || rows === 0 ? {} : { tokensPerRow: usage.completionTokens / rows }),
    ...(cost && { cost }),
    ...(judgeCost && { judgeCost }),
  };
}

/** What was recorded; where that is not all of it, what the user gave (`--meta cost=12.5`) goes first. */
function billOf(recorded: Cost | undefined, given = ''): Bill | undefined {
  const usd = Number.parseFloat(given.replace(/^\s*\$/, ''));
  const isWhole = recorded !== undefined && wholeCost(recorded) !== undefined;
  if (!isWhole && Number.isFinite(usd)) return { usd, unpriced: 0 };
  return recorded?.usd === undefined ? undefined : { usd: recorded.usd, unpriced: recorded.unpriced };
}

const ADVICE_ONLY =
  'Advice only: nothing can be paired with a published row, its figures have an error of their own, and judge and rubric pack must be the official ones.';

function publishedNotes(candidate: ReadRun): string[] {
  const { judge = 'a judge that is not recorded', rubricPack } = shownRun(candidate);
  if (judge === PUBLISHED_SOURCE.judge && rubricPack === 'official') return [ADVICE_ONLY];
  return [
    ADVICE_ONLY,
    `NOT THE SAME: the published rows were judged by ${PUBLISHED_SOURCE.judge} with the official rubric pack; this run by ${oneLine(judge, 80)} with ${rubricPack === undefined ? 'a rubric pack that is not recorded' : `rubric pack ${oneLine(rubricPack, 80)}`}.`,
  ];
}

/** The note that Overall lacks domains. Without a hard domain it is another figure than the mean of all seven. */
export function domainNotes({ card }: ReadRun): string[] {
  const scored = card.domains
    .filter(({ withFailures }) => withFailures.total !== undefined)
    .map(({ domain }) => domain);
  const lacking = DOMAINS.filter((domain) => !scored.includes(domain));
  if (lacking.length === 0 || lacking.length === DOMAINS.length) return [];
  const names = lacking.map(domainName).join(', ');
  return [`Overall is here the mean of ${counted(scored.length, 'domain')}: the candidate has no score in ${names}.`];
}
