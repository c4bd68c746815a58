// awb gate: a candidate against a base, a floor or a published row -> GO, NO-GO or not enough evidence, for people and for CI.

import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { adviceText, type GateOutcome, IDENTITIES, type Identity } from '../decision.js';
import { domainName } from '../domains.js';
import { EXIT, type ExitCode, nearest, UserError } from '../errors.js';
import { counted } from '../figures.js';
import { oneLine, printable } from '../printable.js';
import { annotations } from '../report/gate/annotations.js';
import { jobSummary, SUMMARY_LIMIT } from '../report/gate/job-summary.js';
import { gateJson } from '../report/gate/json.js';
import { junit } from '../report/gate/junit.js';
import type { GatePage } from '../report/gate/page.js';
import { gateText } from '../report/gate/terminal.js';
import { PUBLISHED, PUBLISHED_SOURCE } from '../report/published.js';
import {
  heedStop,
  impossibleRows,
  isOneRun,
  notesOn,
  nothingToCompare,
  type ReadRun,
  RUN_OPTIONS,
  readRuns,
  sameBytesNote,
  sharedBy,
  shownRun,
  writeText,
} from '../runs/runs.js';
import { compareRuns } from '../score/compare.js';
import { decide, type Evidence, type GateReport } from '../score/gate.js';
import { repeatsOf } from '../score/looks.js';
import { canonicalPolicy, defaultPolicy, type Policy, parsePolicy } from '../score/policy.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { parseYaml } from '../settings/yaml-file.js';
import { DOMAINS, type Domain, type Io } from '../types.js';

const OPTIONS = {
  base: {
    kind: 'text',
    value: 'RUN',
    group: 'Runs',
    help: 'the run that must not be fallen behind: a label or number in --db, a judged file or its folder, or published:NAME',
  },
  candidate: { kind: 'text', value: 'RUN', group: 'Runs', help: 'the run to decide about, named alike' },
  ...RUN_OPTIONS,
  policy: { kind: 'text', value: 'FILE', group: 'Policy', help: 'YAML file of rules, in place of the flags below' },
  'max-drop': {
    kind: 'number',
    min: 0,
    max: 100,
    group: 'Policy',
    help: 'points of 0-100 that Overall may lose (default: 2)',
  },
  'max-domain-drop': {
    kind: 'number',
    min: 0,
    max: 100,
    group: 'Policy',
    help: 'points that a domain may lose; a domain can only bring a NO-GO (default: 5)',
  },
  alpha: {
    kind: 'number',
    min: 1e-6,
    max: 0.5,
    group: 'Policy',
    help: 'two-sided level of the intervals (default: 0.05)',
  },
  looks: {
    kind: 'list',
    value: 'N,N',
    group: 'Policy',
    help: 'repeats after which you will ask, named from the start (1,3: after one repeat, and if that is inconclusive after three); the alpha of each follows',
  },
  'min-overall': { kind: 'number', min: 0, max: 100, group: 'Policy', help: 'score that Overall has to reach' },
  min: { kind: 'map', value: 'DOMAIN=SCORE', group: 'Policy', help: 'score that a domain has to reach; repeatable' },
  junit: { kind: 'text', value: 'FILE', group: 'Output', help: 'write JUnit XML, a suite per domain' },
  'json-report': { kind: 'text', value: 'FILE', group: 'Output', help: 'write the JSON report (awb.gate/1)' },
  summary: {
    kind: 'text',
    value: 'FILE',
    group: 'Output',
    help: 'write the job summary; it is also appended to $GITHUB_STEP_SUMMARY',
  },
} as const satisfies OptionTable;

type GateSettings = Settings<typeof OPTIONS>;

const PUBLISHED_PREFIX = 'published:';

export const command = defineCommand({
  description:
    'Decides whether a candidate passes, on the interval of its paired difference from a base. Exit codes: 0 GO, 4 NO-GO, 5 INCONCLUSIVE (not enough evidence), 3 INCOMPLETE (evidence is missing), 0 ADVICE (nothing was to be decided).',
  examples: [
    { line: 'awb gate step-100 step-200', does: 'two checkpoints, the default policy' },
    {
      line: 'awb gate base.jsonl new.jsonl --policy gate.yaml --junit gate.xml',
      does: 'a policy, and a report for CI',
    },
    {
      line: 'awb gate step-100 step-200 --looks 1,3',
      does: 'asked after one repeat, and once more after three',
    },
    { line: 'awb gate step-200 --min-overall 55 --min terminal=50', does: 'a floor, without a base' },
    { line: 'awb gate --base published:Qwen-AgentWorld-35B-A3B step-200', does: 'a published row, as advice' },
  ],
  options: OPTIONS,
  operands: ['base', 'candidate'],
  alsoNeeds: missingNames,
  run: gate,
});

const EXIT_CODES = {
  GO: EXIT.done,
  'NO-GO': EXIT.noGo,
  INCONCLUSIVE: EXIT.inconclusive,
  INCOMPLETE: EXIT.incomplete,
  // Nothing was decided, so nothing stops.
  ADVICE: EXIT.done,
} as const satisfies Record<GateOutcome, ExitCode>;

/** A base can be left out where there is a floor to hold, or a policy that may have one. */
function missingNames(settings: GateSettings): ('base' | 'candidate')[] {
  const { base, candidate, policy } = settings;
  const needsBase = policy === undefined && !hasFloor(settings);
  if (candidate !== undefined) return base === undefined && needsBase ? ['base'] : [];
  if (base === undefined) return needsBase ? ['base', 'candidate'] : ['candidate'];
  return needsBase || base.startsWith(PUBLISHED_PREFIX) ? ['candidate'] : [];
}

function hasFloor({ minOverall, min }: GateSettings): boolean {
  return minOverall !== undefined || Object.keys(min).length > 0;
}

async function gate(settings: GateSettings, io: Io): Promise<ExitCode> {
  // One name alone is the candidate's.
  const baseName = settings.candidate === undefined ? undefined : settings.base;
  const candidateName = (settings.candidate ?? settings.base) as string;
  const published = baseName?.startsWith(PUBLISHED_PREFIX) ? publishedRow(baseName) : undefined;
  const names = baseName === undefined || published !== undefined ? [candidateName] : [baseName, candidateName];
  const written = settings.policy === undefined ? undefined : await readPolicyFile(settings.policy, settings, io);
  const runs = await readRuns(names, settings, io);
  const candidate = runs.at(-1) as ReadRun;
  const base = runs.length === 2 ? (runs[0] as ReadRun) : undefined;
  if (base !== undefined && isOneRun(base, candidate)) {
    throw new UserError(`${base.name} is base and candidate at once, which passes any gate; name two runs`);
  }
  const domains = [...new Set(runs.flatMap(({ rows }) => rows.map((row) => row.domain)))];
  const policy = relaxed(policyOf(settings, written, domains, baseName), settings.allowDifferent);
  const { evidence, notes } = evidenceOf(base, candidate, published, policy);
  const report = decide(evidence, policy);
  await heedStop(io);
  const exitCode = EXIT_CODES[report.verdict];
  const page: GatePage = {
    ...report,
    exitCode,
    policy: {
      from: settings.policy ?? 'flags and defaults',
      fingerprint: createHash('sha256').update(canonicalPolicy(policy)).digest('hex'),
      rules: documentOf(policy),
    },
    ...(base === undefined ? {} : { base: shownRun(base) }),
    ...(published === undefined ? {} : { base: published.shown }),
    candidate: shownRun(candidate),
    ...(evidence.comparison === undefined ? {} : { comparison: evidence.comparison }),
    notes: [...adviceNotes(report), ...domainNotes(candidate), ...notes],
  };
  await deliver(page, settings, io);
  return exitCode;
}

/** The published row of this name. @throws UserError (2) with the names there are. */
function publishedRow(base: string) {
  const name = base.slice(PUBLISHED_PREFIX.length);
  const row = PUBLISHED.find(({ model }) => model.toLowerCase() === name.toLowerCase());
  if (row === undefined) {
    const models = PUBLISHED.map(({ model }) => model);
    const near = nearest(name, models);
    const hint = near === undefined ? `the published rows are ${models.join(', ')}` : `did you mean "${near}"?`;
    throw new UserError(`there is no published row "${oneLine(name, 80)}"; ${hint}`);
  }
  const source = PUBLISHED_SOURCE.text;
  return {
    published: { name: row.model, scores: Object.fromEntries(row.scores) },
    shown: { name: `published ${row.model}`, source, judge: PUBLISHED_SOURCE.judge, rubricPack: 'official' },
  };
}

// The policy.

const POLICY_FLAGS = ['max-drop', 'max-domain-drop', 'alpha', 'min-overall'] as const;

/** @throws UserError: 2 beside flags that are part of a policy, 66 where it cannot be read, 65 where it is not YAML. */
async function readPolicyFile(path: string, settings: GateSettings, io: Io): Promise<unknown> {
  const { maxDrop, maxDomainDrop, alpha, minOverall, min, looks } = settings;
  const values = [maxDrop, maxDomainDrop, alpha, minOverall];
  const given: string[] = POLICY_FLAGS.filter((_, index) => values[index] !== undefined);
  if (Object.keys(min).length > 0) given.push('min');
  if (looks.length > 0) given.push('looks');
  if (given.length > 0) {
    throw new UserError(`--policy and --${given[0]} exclude each other; write it into ${path}, or leave one out`);
  }
  let text: string;
  try {
    text = await readFile(resolve(io.cwd, path), 'utf8');
  } catch (error) {
    throw new UserError(`cannot read the policy ${path}: ${(error as NodeJS.ErrnoException).code}`, EXIT.inputMissing);
  }
  const { document, plain } = await parseYaml(text, path, EXIT.badData);
  return plain(document);
}

function inFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`${path}: ${error.message}`, error.exitCode);
  }
}

function policyOf(
  settings: GateSettings,
  written: unknown,
  domains: readonly Domain[],
  base: string | undefined,
): Policy {
  if (settings.policy !== undefined) {
    const policy = inFile(settings.policy, () => parsePolicy(written, domains));
    if (base === undefined && Object.keys(policy.maxDrop).length > 0) {
      throw new UserError(`${settings.policy} has max_drop, which needs a base: awb gate BASE CANDIDATE`);
    }
    return policy;
  }
  const { maxDrop, maxDomainDrop, alpha } = settings;
  const given = Object.entries({ maxDrop, maxDomainDrop, alpha }).filter(([, value]) => value !== undefined);
  const drops = defaultPolicy({ ...Object.fromEntries(given), looks: looksOf(settings) });
  const floors = floorsOf(settings, domains);
  return { ...drops, maxDrop: base === undefined ? {} : drops.maxDrop, minScore: floors };
}

/** @throws UserError (2) where they are no rising numbers of repeats. */
function looksOf({ looks }: GateSettings): Policy['looks'] {
  if (looks.length === 0) return undefined;
  try {
    return parsePolicy({ looks: looks.map(Number), max_drop: { overall: 0 } }).looks;
  } catch {
    throw new UserError(`--looks ${oneLine(looks.join(','), 60)}: expected rising numbers of repeats, such as 1,3`);
  }
}

function floorsOf({ minOverall, min }: GateSettings, domains: readonly Domain[]): Policy['minScore'] {
  const scores = Object.entries(min).map(([domain, text]) => {
    const score = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(score)) {
      throw new UserError(`--min "${oneLine(`${domain}=${text}`, 60)}": expected a score, such as terminal=50`);
    }
    return [domain, score] as const;
  });
  const floors = { ...(minOverall === undefined ? {} : { overall: minOverall }), ...Object.fromEntries(scores) };
  if (Object.keys(floors).length === 0) return {};
  try {
    return parsePolicy({ min_score: floors }, domains).minScore;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`--min: ${error.message}`);
  }
}

function relaxed(policy: Policy, allowed: readonly string[]): Policy {
  return { ...policy, requireEqual: policy.requireEqual.filter((name) => !allowed.includes(name)) };
}

/** The policy as a policy file has it, every default filled in. */
function documentOf({ alpha, looks, maxDrop, minScore, minCoverage, requireEqual, limits }: Policy) {
  const bounds = (of: Policy['maxDrop'], key: 'points' | 'max') =>
    Object.fromEntries(Object.entries(of).map(([name, { value, tier }]) => [name, { [key]: value, tier }]));
  return {
    alpha,
    ...(looks === undefined ? {} : { looks }),
    max_drop: bounds(maxDrop, 'points'),
    min_score: bounds(minScore, 'points'),
    min_coverage: minCoverage,
    require_equal: requireEqual,
    limits: bounds(limits as Policy['maxDrop'], 'max'),
  };
}

// The evidence.

function evidenceOf(
  base: ReadRun | undefined,
  candidate: ReadRun,
  published: ReturnType<typeof publishedRow> | undefined,
  policy: Policy,
): { evidence: Evidence; notes: string[] } {
  const impossible = { base: base === undefined ? 0 : impossibleRows(base), candidate: impossibleRows(candidate) };
  const repeats = { base: base && repeatsOf(base.rows), candidate: repeatsOf(candidate.rows) };
  const own = { candidate: candidate.card, usage: usageOf(candidate), impossible, repeats };
  if (published !== undefined) {
    return { evidence: { ...own, published: published.published }, notes: publishedNotes(candidate) };
  }
  if (base === undefined) return { evidence: own, notes: [] };
  const comparison = compareRuns(base, candidate, { moved: 0 });
  if (comparison.status !== 'ok') {
    // Ratings that cannot be may be all there are: the gate then says so.
    if (impossible.base + impossible.candidate > 0) return { evidence: own, notes: [] };
    throw nothingToCompare(base, candidate, comparison.reason);
  }
  const shared = sharedBy(base, candidate);
  const known = IDENTITIES.filter((name) => shared[name].state !== 'unknown');
  const identity: Evidence['identity'] = Object.fromEntries(known.map((name) => [name, shared[name].state]));
  const allowed: Identity[] = IDENTITIES.filter((name) => !policy.requireEqual.includes(name));
  return {
    evidence: { ...own, comparison, identity },
    notes: [...sameBytesNote(base, candidate), ...notesOn(shared, allowed)],
  };
}

/** The world model's tokens, and the cost where the run was told it: `--meta cost=12.5`. */
function usageOf({ manifest, made }: ReadRun): NonNullable<Evidence['usage']> {
  const { tokens, counts } = manifest?.predictions ?? {};
  const rows = (counts?.ok ?? 0) + (counts?.failed ?? 0);
  const cost = Number.parseFloat(made.meta.cost ?? '');
  return {
    ...(tokens?.completionTokens === undefined || rows === 0 ? {} : { tokensPerRow: tokens.completionTokens / rows }),
    ...(Number.isFinite(cost) ? { cost } : {}),
  };
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

/** An Overall without a hard domain is another figure than one of all seven, whatever it is held against. */
function domainNotes({ card }: ReadRun): string[] {
  const scored = card.domains
    .filter(({ withFailures }) => withFailures.total !== undefined)
    .map(({ domain }) => domain);
  const lacking = DOMAINS.filter((domain) => !scored.includes(domain));
  if (lacking.length === 0 || lacking.length === DOMAINS.length) return [];
  const names = lacking.map(domainName).join(', ');
  return [`Overall is here the mean of ${counted(scored.length, 'domain')}: the candidate has no score in ${names}.`];
}

/** What the rules that may not decide would come to, beside a verdict that others brought. */
function adviceNotes({ verdict, advice }: GateReport): string[] {
  return advice === undefined || verdict === 'ADVICE'
    ? []
    : [`The advisory rules by themselves: ${adviceText(advice)}.`];
}

// What is written.

async function deliver(page: GatePage, settings: GateSettings, io: Io): Promise<void> {
  const { json, color, junit: junitFile, jsonReport, summary } = settings;
  const look = { columns: io.stdout.columns, color: color && io.stdout.isTTY };
  io.stdout.write(json ? gateJson(page) : gateText(page, look));
  // Beside a JSON document they would break it; the runner reads both streams.
  (json ? io.stderr : io.stdout).writeCommands?.(annotations(page));
  await appendStepSummary(page, io);
  if (junitFile !== undefined) await writeText(junitFile, junit(page), '--junit', io);
  if (jsonReport !== undefined) await writeText(jsonReport, gateJson(page), '--json-report', io);
  if (summary !== undefined) await writeText(summary, jobSummary(page), '--summary', io);
}

/** What other commands of the step have written counts against the limit. A summary that cannot be written spoils no verdict. */
async function appendStepSummary(page: GatePage, io: Io): Promise<void> {
  const { GITHUB_STEP_SUMMARY: given } = io.env;
  if (given === undefined || given === '') return;
  const path = resolve(io.cwd, given);
  try {
    const taken = existsSync(path) ? statSync(path).size : 0;
    await appendFile(path, jobSummary(page, SUMMARY_LIMIT - taken));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    io.stderr.write(`note: cannot write the job summary ${printable(given)} (${code})\n`);
  }
}
