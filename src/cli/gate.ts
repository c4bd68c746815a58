// awb gate: decides whether a candidate passes against a base, a floor or a published row, for people and for CI.

import { existsSync, statSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Provenance } from '../core/decision.js';
import { codeOf, type ExitCode, heedStop, present, UserError } from '../core/errors.js';
import { printable, shellLine } from '../core/printable.js';
import { lookOf } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { annotations, type GateReport, gateJson, gateText, jobSummary, junit, SUMMARY_LIMIT } from '../report/gate.js';
import { isOneRun } from '../results/comparability.js';
import { ONE_OF_TWO, RUN_OPTIONS, wordsFor } from '../results/databases.js';
import { readPair, readRun } from '../results/find.js';
import {
  gateReport,
  hasFloor,
  isPublished,
  POLICY_OPTIONS,
  publishedBase,
  readPolicy,
  type Sides,
} from '../results/gate.js';
import { OPEN, pageLink, requirePageName, writeText } from '../results/output.js';
import {
  defineCommand,
  EXPLAIN,
  type OptionTable,
  option,
  programName,
  type Settings,
  under,
} from '../settings/command.js';
import { verdictDocument } from '../view/compare-document.js';
import { resultPage } from '../view/result-documents.js';

const BASE = 'the run to compare with: a label or number in --db, a judged file or its folder, or published:NAME';
const GATE_OPTIONS = {
  base: { ...ONE_OF_TWO, help: BASE },
  candidate: { ...ONE_OF_TWO, help: 'the run to decide on, named in the same way' },
  ...RUN_OPTIONS,
  ...POLICY_OPTIONS,
  ...under('Output', {
    junit: option.text('FILE', 'write JUnit XML, a suite per domain'),
    'json-report': option.text('FILE', 'write the JSON report (awb.gate/1)'),
    summary: option.text('FILE', 'write the job summary; it is also appended to $GITHUB_STEP_SUMMARY'),
    html: option.text('FILE', 'write a page with the verdict, its reasons and the differences'),
    open: OPEN,
  }),
  ...EXPLAIN,
} as const satisfies OptionTable;

type GateSettings = Settings<typeof GATE_OPTIONS>;

export const command = defineCommand({
  description:
    'Decides whether a candidate passes, based on the interval of its paired difference from a base. Exit codes: 0 GO, 4 NO-GO, 5 INCONCLUSIVE (not enough evidence), 3 INCOMPLETE (evidence is missing), 0 ADVICE (there was nothing to decide).',
  examples: {
    'awb gate step-100 step-200': 'two checkpoints, the default policy',
    'awb gate base.jsonl new.jsonl --policy gate.yaml --junit gate.xml': 'a policy, and a report for CI',
    'awb gate step-100 step-200 --looks 1,3': 'decide after one repeat, and again after three',
    'awb gate step-200 --min-overall 55 --min terminal=50': 'a floor, without a base',
    'awb gate --base published:Qwen-AgentWorld-35B-A3B step-200': 'against a published row, as advice only',
  },
  options: GATE_OPTIONS,
  operands: ['base', 'candidate'],
  alsoNeeds: missingNames,
  run: runGate,
});

/** A base can be left out if there is a floor, or a policy that may have one. */
function missingNames(settings: GateSettings): ('base' | 'candidate')[] {
  const { base, candidate, policy } = settings;
  const needsBase = policy === undefined && !hasFloor(settings);
  if (candidate !== undefined) return base === undefined && needsBase ? ['base'] : [];
  if (base === undefined) return needsBase ? ['base', 'candidate'] : ['candidate'];
  return needsBase || isPublished(base) ? ['candidate'] : [];
}

async function runGate(settings: GateSettings, io: Io): Promise<ExitCode> {
  requirePageName(settings.html, '--html', settings);
  // A single name is the candidate's.
  const baseName = settings.candidate === undefined ? undefined : settings.base;
  const published = isPublished(baseName) ? publishedBase(baseName) : undefined;
  const policyFor = await readPolicy(settings, io);
  const { base, candidate } = await runsOf(settings, io);
  const domains = new Set([...(base?.rows ?? []), ...candidate.rows].map((row) => row.domain));
  const asked = policyFor([...domains], baseName !== undefined);
  const isRequired = (name: Provenance) => !settings.allowDifferent.includes(name);
  const policy = { ...asked, requireEqual: asked.requireEqual.filter(isRequired) };
  const report = gateReport({ base, candidate, published }, policy, settings.policy);
  await heedStop(io);
  const { json, junit: junitFile, jsonReport, summary, html } = settings;
  io.stdout.write(json ? gateJson(report) : gateText(report, lookOf(settings, io)));
  // On stdout they would break a JSON document, and the runner reads both streams.
  (json ? io.stderr : io.stdout).writeCommands?.(annotations(report));
  await appendStepSummary(report, io);
  if (junitFile !== undefined) await writeText(junitFile, junit(report), '--junit', io);
  if (jsonReport !== undefined) await writeText(jsonReport, gateJson(report), '--json-report', io);
  if (summary !== undefined) await writeText(summary, jobSummary(report), '--summary', io);
  if (html !== undefined) {
    const page = resultPage(`${report.verdict}: ${report.candidate.name}`, 'gate', verdictDocument(report));
    await writeText(html, await page, '--html', io);
    const link = await pageLink(html, settings, io);
    if (!settings.quiet) io.stderr.write(`page: ${link}\n`);
  }
  return report.exitCode;
}

/** The named runs, without a published row. @throws UserError (2) if base and candidate are the same run. */
async function runsOf(settings: GateSettings, io: Io): Promise<Pick<Sides, 'base' | 'candidate'>> {
  const { base, candidate } = settings;
  if (base === undefined || candidate === undefined || isPublished(base)) {
    return { candidate: await readRun(present(candidate ?? base), settings, io) };
  }
  const where = wordsFor(resolve(io.cwd, settings.db.join(',')), io);
  const fixed = (name: string) => `${programName(io)} ${shellLine(['gate', name, candidate, ...where])}`;
  const pair = await readPair(base, candidate, { ...settings, fixed }, io);
  if (!isOneRun(pair)) return pair;
  throw new UserError(`${pair.base.name} is both base and candidate, which passes any gate; name two runs`);
}

/** Appends to the job summary, whose limit applies to all commands of the step. If it cannot be written, the verdict still stands. */
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
