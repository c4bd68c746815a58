// A gate on runs that were read: its policy, from flags or a YAML file; its evidence (a comparison with a base, a published row, or only
// the candidate); and the report on its decision.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Cost, wholeCost } from '../core/costs.js';
import { adviceText, type GateOutcome, PROVENANCE } from '../core/decision.js';
import { domainName } from '../core/domains.js';
import { codeOf, EXIT, type ExitCode, inputMissing, UserError } from '../core/errors.js';
import { canonicalJson } from '../core/json.js';
import { counted, oneLine } from '../core/printable.js';
import { unknownName } from '../core/schema.js';
import { DOMAINS, type Domain, type Io } from '../core/types.js';
import { parseYaml } from '../disk/yaml-file.js';
import type { ShownRun } from '../report/comparison.js';
import type { GateReport } from '../report/gate.js';
import { PUBLISHED, PUBLISHED_SOURCE } from '../report/published.js';
import { type OptionTable, option, type Settings } from '../settings/command.js';
import { compareRuns } from '../stats/compare.js';
import { decide } from '../stats/gate.js';
import { repeatsOf } from '../stats/looks.js';
import { type Bill, defaultPolicy, type Evidence, type Policy, parsePolicy } from '../stats/policy.js';
import { notesOn, nothingToCompare, sameBytesNote, sharedBy, shownRun } from './comparability.js';
import { impossibleRows, type ReadRun } from './read-run.js';

const POINTS = { kind: 'number', min: 0, max: 100, group: 'Policy' } as const;

/** The options of a policy. */
export const POLICY_OPTIONS = {
  policy: option.text('FILE', 'YAML file of rules, instead of the flags below', { group: 'Policy' }),
  'max-drop': { ...POINTS, help: 'points of 0-100 that Overall may lose (default: 2)' },
  'max-domain-drop': {
    ...POINTS,
    help: 'points that a domain may lose; can only cause a NO-GO (default: 5)',
  },
  alpha: { ...POINTS, min: 1e-6, max: 0.5, help: 'two-sided level of the intervals (default: 0.05)' },
  looks: option.list('N,N', 'repeats after which to decide, fixed in advance: 1,3', { group: 'Policy' }),
  'min-overall': { ...POINTS, help: 'score that Overall must reach' },
  min: option.map('score that a domain must reach; repeatable', { value: 'DOMAIN=SCORE', group: 'Policy' }),
} as const satisfies OptionTable;

type PolicySettings = Settings<typeof POLICY_OPTIONS>;

/** Whether the flags name a score to reach, which needs no base. */
export function hasFloor({ minOverall, min }: Pick<PolicySettings, 'minOverall' | 'min'>): boolean {
  return minOverall !== undefined || Object.keys(min).length > 0;
}

/** Makes the policy once the domains of the runs, and whether there is a base, are known. @throws UserError: 2 for flags, 65 for a file. */
type PolicyFor = (domains: readonly Domain[], hasBase: boolean) => Policy;

/**
 * Reads a policy's file, if there is one, before anything is computed.
 * @throws UserError: 2 if it is combined with flags of a policy, 66 if the file cannot be read, 65 if it is not YAML.
 */
export async function readPolicy(settings: PolicySettings, io: Io): Promise<PolicyFor> {
  const { policy: path, maxDrop, maxDomainDrop, alpha, minOverall, min, looks } = settings;
  if (path === undefined) return (domains, hasBase) => policyOfFlags(settings, domains, hasBase);
  const flags = [maxDrop, maxDomainDrop, alpha, minOverall, ...Object.keys(min), ...looks];
  if (flags.some((flag) => flag !== undefined)) {
    throw new UserError(`--policy cannot be combined with policy flags; write them into ${path}, or leave it out`);
  }
  const text = await readFile(resolve(io.cwd, path), 'utf8').catch((error) => {
    throw inputMissing(`cannot read the policy ${path}: ${codeOf(error)}`);
  });
  const { lineOf, plain, document } = await parseYaml(text, path, EXIT.badData);
  const written = plain(document);
  return (domains, hasBase) => {
    const policy = parsePolicy(written, domains, (place) => `${path}:${lineOf(place)}: `);
    if (!hasBase && Object.keys(policy.maxDrop).length > 0) {
      throw new UserError(`${path} has max_drop, which needs a base: awb gate BASE CANDIDATE`);
    }
    return policy;
  };
}

/** @throws UserError (2) for values that no policy can have. */
function policyOfFlags(settings: PolicySettings, domains: readonly Domain[], hasBase: boolean): Policy {
  const { maxDrop, maxDomainDrop, alpha, minOverall, min, looks } = settings;
  const scores = Object.entries(min).map(([domain, text]) => {
    const score = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isFinite(score)) return [domain, score] as const;
    throw new UserError(`--min "${oneLine(`${domain}=${text}`, 60)}": expected a score, such as terminal=50`);
  });
  const flags = {
    ...{ maxDomainDrop, alpha, maxDrop: hasBase ? maxDrop : null },
    looks: looks.length === 0 ? undefined : looks.map(Number),
    minScore: { ...(minOverall !== undefined && { overall: minOverall }), ...Object.fromEntries(scores) },
  };
  try {
    return defaultPolicy(flags, domains);
  } catch (error) {
    throw error instanceof UserError ? new UserError(`the flags are not a valid policy: ${error.message}`) : error;
  }
}

/** SHA-256 (hex) of a policy: equal if two policies demand the same, from whatever source. */
export function policyFingerprint(policy: Policy): string {
  return createHash('sha256').update(canonicalJson(policy)).digest('hex');
}

/** The sides of a gate; a published row takes the place of a base. */
export interface Sides {
  readonly candidate: ReadRun;
  readonly base?: ReadRun | undefined;
  readonly published?: ReturnType<typeof publishedBase> | undefined;
}

const PUBLISHED_PREFIX = 'published:';

export function isPublished(name: string | undefined): name is string {
  return name?.startsWith(PUBLISHED_PREFIX) ?? false;
}

/** The row of this name in the published table, as the base of a gate. @throws UserError (2) with the known names. */
export function publishedBase(base: string) {
  const name = base.slice(PUBLISHED_PREFIX.length);
  const row = PUBLISHED.find(({ model }) => model.toLowerCase() === name.toLowerCase());
  if (row === undefined) {
    const models = PUBLISHED.map(({ model }) => model);
    throw new UserError(unknownName(`published row "${oneLine(name, 80)}"`, name, models));
  }
  const { text: source, judge } = PUBLISHED_SOURCE;
  const shown: ShownRun = { name: `published ${row.model}`, source, judge, rubricPack: 'official' };
  return { row: { name: row.model, scores: Object.fromEntries(row.scores) }, shown };
}

const EXIT_CODES = {
  GO: EXIT.done,
  'NO-GO': EXIT.noGo,
  INCONCLUSIVE: EXIT.inconclusive,
  INCOMPLETE: EXIT.incomplete,
  // Nothing was decided, so nothing should stop a pipeline.
  ADVICE: EXIT.done,
} as const satisfies Record<GateOutcome, ExitCode>;

/**
 * The decision of a gate, with everything to report about it.
 * @param from source of the policy: a file's name, or `flags and defaults`
 * @throws UserError: 65 if no row can be compared, 2 if the runs' repeats are not a planned look.
 */
export function gateReport(sides: Sides, policy: Policy, from = 'flags and defaults'): GateReport {
  const { base, candidate, published } = sides;
  const { evidence, notes } = evidenceOf(sides, policy);
  const decision = decide(evidence, policy);
  const { verdict, advice } = decision;
  // The outcome of the advisory rules, if other rules decided the verdict.
  const advised = advice && verdict !== 'ADVICE' ? [`The advisory rules alone: ${adviceText(advice)}.`] : [];
  return {
    ...decision,
    exitCode: EXIT_CODES[verdict],
    policy: { from, fingerprint: policyFingerprint(policy), rules: policy },
    base: base === undefined ? published?.shown : shownRun(base),
    candidate: shownRun(candidate),
    comparison: evidence.comparison,
    notes: [...advised, ...domainNotes(candidate), ...notes],
  };
}

/**
 * The evidence from the sides, and notes on them for readers.
 * @throws UserError (65) if no row can be compared.
 */
export function evidenceOf(
  { base, candidate, published }: Sides,
  policy: Policy,
): { readonly evidence: Evidence; readonly notes: string[] } {
  const impossible = { base: base === undefined ? 0 : impossibleRows(base), candidate: impossibleRows(candidate) };
  const repeats = { base: base && repeatsOf(base.rows), candidate: repeatsOf(candidate.rows) };
  const own = { candidate: candidate.card, usage: usageOf(candidate), impossible, repeats };
  if (published !== undefined) {
    return { evidence: { ...own, published: published.row }, notes: publishedNotes(candidate) };
  }
  if (base === undefined) return { evidence: own, notes: [] };
  const pair = { base, candidate };
  const comparison = compareRuns(base, candidate, { moved: 0 });
  if (comparison.status !== 'ok') {
    // If all ratings are impossible, the gate reports that itself.
    if (impossible.base + impossible.candidate > 0) return { evidence: own, notes: [] };
    throw nothingToCompare(pair, comparison.reason);
  }
  const shared = sharedBy(pair);
  const states: Evidence['shared'] = Object.fromEntries(
    PROVENANCE.map((name) => [name, shared[name].state] as const).filter(([, state]) => state !== 'unknown'),
  );
  const allowed = PROVENANCE.filter((name) => !policy.requireEqual.includes(name));
  return {
    evidence: { ...own, comparison, shared: states },
    notes: [...sameBytesNote(pair), ...notesOn(shared, allowed)],
  };
}

/** The world model's tokens per row, and the costs of both models. */
function usageOf({ costs, made }: ReadRun): NonNullable<Evidence['usage']> {
  const { rows = 0, usage } = costs.world_model?.total ?? {};
  return {
    tokensPerRow: usage?.completionTokens === undefined || rows === 0 ? undefined : usage.completionTokens / rows,
    cost: billOf(costs.world_model?.total, made.meta.cost),
    judgeCost: billOf(costs.judge?.total),
  };
}

/** The recorded cost. If it is incomplete, the user's figure (`--meta cost=12.5`) takes precedence. */
function billOf(recorded: Cost | undefined, given = ''): Bill | undefined {
  const usd = Number.parseFloat(given.replace(/^\s*\$/, ''));
  const isWhole = recorded !== undefined && wholeCost(recorded) !== undefined;
  if (!isWhole && Number.isFinite(usd)) return { usd, unpriced: 0 };
  return recorded?.usd === undefined ? undefined : { usd: recorded.usd, unpriced: recorded.unpriced };
}

function publishedNotes(candidate: ReadRun): string[] {
  const { judge = 'a judge that is not recorded', rubricPack = 'that is not recorded' } = shownRun(candidate);
  return [
    `Advice only: a published row cannot be paired, and its figures have an error of their own. It was judged by ${PUBLISHED_SOURCE.judge} with the official rubric pack, as the run must be; this run by ${oneLine(judge, 80)} with rubric pack ${oneLine(rubricPack, 80)}.`,
  ];
}

/** The note that Overall lacks domains. Without a hard domain it cannot be compared with the mean of all seven. */
export function domainNotes({ card }: ReadRun): string[] {
  const scored = card.domains
    .filter(({ withFailures }) => withFailures.total !== undefined)
    .map(({ domain }) => domain);
  const lacking = DOMAINS.filter((domain) => !scored.includes(domain));
  if (lacking.length === 0 || lacking.length === DOMAINS.length) return [];
  const names = lacking.map(domainName).join(', ');
  return [`Overall is the mean of only ${counted(scored.length, 'domain')}: the candidate has no score in ${names}.`];
}
