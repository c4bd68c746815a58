// awb compare and awb gate: how a run differs from another on the rows of both, how sure that is, and which rows moved most; and whether a
// candidate passes against a base, a floor or a published row, for people and for CI.

import { existsSync, statSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readJudged } from '../benchmark/judged.js';
import type { MovedRow } from '../core/comparison.js';
import { adviceText, type GateOutcome, PROVENANCE, type Provenance } from '../core/decision.js';
import { codeOf, EXIT, type ExitCode, heedStop, present, UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import type { JsonObject } from '../core/json.js';
import { isModelCaused } from '../core/points.js';
import { oneLine, printable, shellLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import type { Io, JudgedRow } from '../core/types.js';
import { COMPARISON_FORMATS } from '../report/comparison.js';
import { annotations, type GateReport, gateJson, gateText, jobSummary, junit, SUMMARY_LIMIT } from '../report/gate.js';
import {
  isOneRun,
  notesOn,
  nothingToCompare,
  requireShared,
  sameBytesNote,
  sharedBy,
  shownRun,
} from '../results/comparability.js';
import { ONE_OF_TWO, provenanceIn, RUN_OPTIONS, wordsFor } from '../results/databases.js';
import { readPair, readRun } from '../results/find.js';
import {
  domainNotes,
  evidenceOf,
  hasFloor,
  isPublished,
  POLICY_OPTIONS,
  policyFingerprint,
  publishedBase,
  readPolicy,
  type Sides,
} from '../results/gate.js';
import { deliver, formatOf, writeText } from '../results/output.js';
import { type Pair, type ReadRun, warningsOn } from '../results/read-run.js';
import {
  defineCommand,
  EXPLAIN,
  type OptionTable,
  option,
  programName,
  type Settings,
  under,
} from '../settings/command.js';
import { compareRuns } from '../stats/compare.js';
import { decide } from '../stats/gate.js';

export const compare = defineCommand({
  description:
    'Compares two judged runs on the rows of both, paired row by row: differences with intervals by domain and dimension, and the rows that moved most.',
  examples: {
    'awb compare step-100 step-200': 'two checkpoints that awb score stored',
    'awb compare base/judged.jsonl new/judged.jsonl -o comparison.md': 'two judged files, as Markdown',
  },
  options: {
    base: {
      ...ONE_OF_TWO,
      required: true,
      help: 'the run to compare with: a label or number in --db, or a judged file or its folder',
    },
    candidate: { ...ONE_OF_TWO, required: true, help: 'the run to compare, named in the same way' },
    ...RUN_OPTIONS,
    ...under('Output', {
      moved: option.integer('rows that moved most to show', { min: 0, default: 10 }),
      dimensions: option.flag("show each domain's five dimensions too"),
      seed: option.integer('seed of the permutation test and the bootstrap', { min: 0, default: 1 }),
      format: option.choice(keysOf(COMPARISON_FORMATS), "form of the output; without it the file's ending decides"),
      output: option.text('FILE', 'write it to a file instead of stdout', { short: 'o' }),
    }),
    ...EXPLAIN,
  },
  operands: ['base', 'candidate'],
  async run(settings, io) {
    const format = formatOf(settings, COMPARISON_FORMATS);
    const pair = await readPair(settings.base, settings.candidate, settings, io);
    const { base, candidate } = pair;
    const shared = sharedBy(pair);
    const allowed = provenanceIn(settings.allowDifferent);
    requireShared(shared, allowed);
    const comparison = compareRuns(base, candidate, { moved: settings.moved, seed: settings.seed });
    await heedStop(io);
    if (comparison.status !== 'ok') throw nothingToCompare(pair, comparison.reason);
    const { weaknesses, notes } = await reasonsFor(pair, comparison.moved, io);
    const view = {
      base: shownRun(base),
      candidate: shownRun(candidate),
      comparison,
      weaknesses,
      shared: Object.fromEntries(PROVENANCE.map((name) => [name, shared[name].state])),
      notes: [...[base, candidate].flatMap(warningsOn), ...sameBytesNote(pair), ...notesOn(shared, allowed), ...notes],
      dimensions: settings.dimensions,
    };
    const isScreen = format === 'terminal' && settings.output === undefined;
    const look = lookOf({ ...settings, color: settings.color && isScreen }, io);
    await deliver(COMPARISON_FORMATS[format].print(view, look), settings, io);
    return EXIT.done;
  },
});

/** Why rows moved, by key, as their judges said: what is wrong now with rows that fell, what was wrong before with rows that rose. */
async function reasonsFor({ base, candidate }: Pair, moved: readonly MovedRow[], io: Io) {
  const rows = (fell: boolean) => moved.filter(({ difference }) => difference < 0 === fell).map(({ key }) => key);
  const before = await weaknessesOf(base, rows(false), io);
  const now = await weaknessesOf(candidate, rows(true), io);
  const reasons = [before.why, now.why].filter((why) => why !== undefined);
  return {
    weaknesses: new Map([
      ...[...before.byKey].map(([key, said]) => [key, `before: ${said}`] as const),
      ...[...now.byKey].map(([key, said]) => [key, `now: ${said}`] as const),
    ]),
    notes: reasons.map((why) => `Without what the judge said of the rows that moved: ${why}.`),
  };
}

/**
 * What was wrong with rows, as their judge said: the first weakness of the worst repeat of each, or why it failed, by key.
 * Empty, with the reason, where the judged file is gone or was changed since.
 */
async function weaknessesOf(
  run: ReadRun,
  keys: readonly string[],
  io: Io,
): Promise<{ readonly byKey: ReadonlyMap<string, string>; readonly why?: string }> {
  const byKey = new Map<string, string>();
  if (keys.length === 0) return { byKey };
  const name = join(basename(dirname(run.source)), basename(run.source));
  if (!existsSync(run.source)) return { byKey, why: `${name} is not there any more` };
  const said = new Map<string, string>();
  const file = await readJudged(run.source, io.stop, ({ key, repeat, index }, fields) => {
    const weakness = keys.includes(key) ? weaknessIn(fields) : undefined;
    if (weakness !== undefined) said.set(rowId(key, repeat, index), weakness);
  });
  if (file.sha256 !== run.sha256) return { byKey, why: `${name} has changed since it was scored` };
  const worst = new Map<string, JudgedRow>();
  for (const row of file.rows) {
    const before = worst.get(row.key);
    // A row that counts for nothing needs no reason.
    if (row.failure !== undefined && !isModelCaused(row.failure.class)) continue;
    if (keys.includes(row.key) && (before === undefined || row.total < before.total)) worst.set(row.key, row);
  }
  for (const { key, repeat, index, failure } of worst.values()) {
    const why = failure ? `${failure.class}: ${failure.reason}` : said.get(rowId(key, repeat, index));
    if (why !== undefined) byKey.set(key, oneLine(why, 400));
  }
  return { byKey };
}

/** The official script writes whatever the judge gave: a list, a text, or something else. */
function weaknessIn({ weaknesses }: JsonObject): string | undefined {
  return [weaknesses].flat().find((one): one is string => typeof one === 'string' && one.trim() !== '');
}

const BASE = 'the run not to fall behind: a label or number in --db, a judged file or its folder, or published:NAME';
const GATE_OPTIONS = {
  base: { ...ONE_OF_TWO, help: BASE },
  candidate: { ...ONE_OF_TWO, help: 'the run to decide about, named in the same way' },
  ...RUN_OPTIONS,
  ...POLICY_OPTIONS,
  ...under('Output', {
    junit: option.text('FILE', 'write JUnit XML, a suite per domain'),
    'json-report': option.text('FILE', 'write the JSON report (awb.gate/1)'),
    summary: option.text('FILE', 'write the job summary; it is also appended to $GITHUB_STEP_SUMMARY'),
  }),
  ...EXPLAIN,
} as const satisfies OptionTable;

type GateSettings = Settings<typeof GATE_OPTIONS>;

export const gate = defineCommand({
  description:
    'Decides whether a candidate passes, on the interval of its paired difference from a base. Exit codes: 0 GO, 4 NO-GO, 5 INCONCLUSIVE (not enough evidence), 3 INCOMPLETE (evidence is missing), 0 ADVICE (nothing was to be decided).',
  examples: {
    'awb gate step-100 step-200': 'two checkpoints, the default policy',
    'awb gate base.jsonl new.jsonl --policy gate.yaml --junit gate.xml': 'a policy, and a report for CI',
    'awb gate step-100 step-200 --looks 1,3': 'asked after one repeat, and once more after three',
    'awb gate step-200 --min-overall 55 --min terminal=50': 'a floor, without a base',
    'awb gate --base published:Qwen-AgentWorld-35B-A3B step-200': 'a published row, as advice',
  },
  options: GATE_OPTIONS,
  operands: ['base', 'candidate'],
  alsoNeeds: missingNames,
  run: runGate,
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
  return needsBase || isPublished(base) ? ['candidate'] : [];
}

async function runGate(settings: GateSettings, io: Io): Promise<ExitCode> {
  // One name alone is the candidate's.
  const baseName = settings.candidate === undefined ? undefined : settings.base;
  const published = isPublished(baseName) ? publishedBase(baseName) : undefined;
  const policyFor = await readPolicy(settings, io);
  const { base, candidate } = await runsOf(settings, io);
  const domains = new Set([...(base?.rows ?? []), ...candidate.rows].map((row) => row.domain));
  const asked = policyFor([...domains], baseName !== undefined);
  const isRequired = (name: Provenance) => !settings.allowDifferent.includes(name);
  const policy = { ...asked, requireEqual: asked.requireEqual.filter(isRequired) };
  const { evidence, notes } = evidenceOf({ base, candidate, published }, policy);
  const decision = decide(evidence, policy);
  await heedStop(io);
  const { verdict, advice } = decision;
  // What the advisory rules come to, where other rules brought the verdict.
  const advised = advice && verdict !== 'ADVICE' ? [`The advisory rules by themselves: ${adviceText(advice)}.`] : [];
  const report: GateReport = {
    ...decision,
    exitCode: EXIT_CODES[verdict],
    policy: { from: settings.policy ?? 'flags and defaults', fingerprint: policyFingerprint(policy), rules: policy },
    base: base === undefined ? published?.shown : shownRun(base),
    candidate: shownRun(candidate),
    comparison: evidence.comparison,
    notes: [...advised, ...domainNotes(candidate), ...notes],
  };
  const { json, junit: junitFile, jsonReport, summary } = settings;
  io.stdout.write(json ? gateJson(report) : gateText(report, lookOf(settings, io)));
  // On stdout they would break a JSON document. The runner reads both streams.
  (json ? io.stderr : io.stdout).writeCommands?.(annotations(report));
  await appendStepSummary(report, io);
  if (junitFile !== undefined) await writeText(junitFile, junit(report), '--junit', io);
  if (jsonReport !== undefined) await writeText(jsonReport, gateJson(report), '--json-report', io);
  if (summary !== undefined) await writeText(summary, jobSummary(report), '--summary', io);
  return report.exitCode;
}

/** The runs that are named, a published row left out. @throws UserError (2) for one run as base and candidate. */
async function runsOf(settings: GateSettings, io: Io): Promise<Pick<Sides, 'base' | 'candidate'>> {
  const { base, candidate } = settings;
  if (base === undefined || candidate === undefined || isPublished(base)) {
    return { candidate: await readRun(present(candidate ?? base), settings, io) };
  }
  const where = wordsFor(resolve(io.cwd, settings.db.join(',')), io);
  const fixed = (name: string) => `${programName(io)} ${shellLine(['gate', name, candidate, ...where])}`;
  const pair = await readPair(base, candidate, { ...settings, fixed }, io);
  if (!isOneRun(pair)) return pair;
  throw new UserError(`${pair.base.name} is base and candidate at once, which passes any gate; name two runs`);
}

/** Appends to the job summary. Its limit holds for all commands of the step. A summary that cannot be written spoils no verdict. */
async function appendStepSummary(report: GateReport, io: Io): Promise<void> {
  const { GITHUB_STEP_SUMMARY: given } = io.env;
  if (given === undefined || given === '') return;
  const path = resolve(io.cwd, given);
  try {
    const taken = existsSync(path) ? statSync(path).size : 0;
    await appendFile(path, jobSummary(report, SUMMARY_LIMIT - taken));
  } catch (error) {
    io.stderr.write(`note: cannot write the job summary ${printable(given)} (${codeOf(error)})\n`);
  }
}
