// `awb infer --scenarios` from the suite to the file: plans, asks and verifies rows; and `--list-scenarios`: the contents of a suite.

import { resolve } from 'node:path';
import { fingerprintOf, listFolder } from '../../benchmark/prompts.js';
import { domainName } from '../../core/domains.js';
import { present, UserError } from '../../core/errors.js';
import { isModelCaused } from '../../core/points.js';
import { counted, oneLine } from '../../core/printable.js';
import { NONE, type Table } from '../../core/table.js';
import { wrapped } from '../../core/terminal.js';
import type { Io, Question } from '../../core/types.js';
import { placeOfRow, stageOver, withChosenRows, withData } from '../../infer/chosen-rows.js';
import { baselineOf, type Inference, inferIdentity, predictionState, recordOf } from '../../infer/inferring.js';
import { INFER_OPTIONS, type InferSettings } from '../../infer/options.js';
import { printBill } from '../../run/bill-text.js';
import { askStage, runOptions, withRun } from '../../run/command.js';
import type { Manifest } from '../../run/manifest.js';
import type { Run } from '../../run/run.js';
import { markOf, oneByOne, type Stage } from '../../run/stage-contract.js';
import { type OptionTable, option, type Settings, type ShownSettings, under } from '../../settings/command.js';
import { answersOf, fittingIn, isSample, lineOf, messagesAt, planOf, type ScenarioJob, startOf } from './chains.js';
import type { Scenario } from './scenario.js';
import type { ScenarioSuite } from './suite.js';

/** Options of awb infer that give instructions to the world model, in addition to those of every inference. */
export const SCENARIO_OPTIONS = under('Simulation', {
  scenarios: option.text(
    'SUITE',
    'give the world model instructions and verify how it follows them: standard, or a folder of scenarios',
  ),
  'scenario-rows': option.integer('maximum rows per scenario and domain, one of every trajectory first', {
    min: 1,
    default: 20,
    belongsTo: 'scenarios',
  }),
  'max-calls': option.integer('maximum calls; scenarios lose rows equally', { min: 1, belongsTo: 'scenarios' }),
  'list-scenarios': option.flag(
    "list the suite's scenarios, and to how many rows of --data-dir each applies; nothing is asked",
  ),
} as const satisfies OptionTable);

export type ScenarioSettings = InferSettings & Settings<typeof SCENARIO_OPTIONS>;

/** Everything that a scenario run needs. */
interface Instructing extends Inference {
  readonly suite: ScenarioSuite;
  readonly jobs: readonly ScenarioJob[];
}

/**
 * Runs the suite's scenarios on the world model.
 * @returns the result and its file; undefined if only the bill was printed
 * @throws UserError: the errors of opening data, suite and model; 2 if no scenario applies to a chosen row
 */
export async function instruct(
  settings: ScenarioSettings & { readonly scenarios: string },
  io: Io,
  shown: ShownSettings,
) {
  if (settings.repeats > 1 || settings.rollout) {
    throw new UserError(
      '--repeats and --rollout cannot be combined with --scenarios; take more rows instead, with --scenario-rows',
    );
  }
  const suite = await openSuite(settings.scenarios, settings, io);
  return withChosenRows(settings, io, async (rows) => {
    const { dataset, chosen, pricing } = rows;
    // A baseline only answers for rows, not for a suite's own starts or for steps after a row.
    const isAskable = ({ at, steps }: Scenario) =>
      settings.baseline === undefined || ('applies' in at && steps.length === 1);
    const scenarios = suite.scenarios.filter(isAskable);
    const { sampleSeed: seed, scenarioRows: rowsEach, maxCalls = Number.POSITIVE_INFINITY } = settings;
    const fitting = fittingIn(dataset, scenarios, io.stop);
    const plan = await planOf(dataset.rows, chosen, scenarios, fitting, { seed, rowsEach, maxCalls });
    const { jobs } = plan;
    if (jobs.length === 0) {
      const wanted = [...new Set(suite.scenarios.flatMap(({ domains }) => domains))].sort().join(', ');
      throw new UserError(
        `no scenario of ${suite.name} applies to a chosen row; they are for ${wanted}; choose other rows with --domains, --ids and --sample, or another suite`,
      );
    }
    const lines = planText(plan, suite.scenarios.length - scenarios.length);
    const said = lines.flatMap((line) => wrapped(line, io.stderr.columns, 2));
    if (!settings.quiet) io.stderr.write(`${said.join('\n')}\n\n`);
    const work: Instructing = { settings, io, shown, suite, jobs, ...rows };
    // The chosen rows and scenarios are not part of the identity: more of them go into the same file.
    const identity = (stored: Manifest | undefined) => ({
      mode: 'scenarios',
      suite: `${suite.name} ${suite.fingerprint.slice(0, FINGERPRINT_DIGITS)}`,
      ...inferIdentity(work, stored),
    });
    const names = { kind: 'scenarios', name: 'scenarios' } as const;
    const options = { ...runOptions(settings, io), ...names, identity, stateOf: predictionState, pricing };
    return withRun(options, async (run) => {
      const stage = scenarioStage(work, run);
      if (settings.dryRun) {
        await printBill(stage);
        return undefined;
      }
      const result = await askStage(stage);
      // Print results only if a sample is done (twins are not enough), and not after an interrupt.
      const isTold = !io.stop.aborted && jobs.some((job) => isSample(job) && run.journal.has(job.id));
      return { result, file: run.outputPath, isTold };
    });
  });
}

/** What is asked, and what of the suite is left out, a sentence each. */
function planText({ jobs, unused }: Awaited<ReturnType<typeof planOf>>, leftOut: number): string[] {
  const chains = new Set(jobs.map(({ chain }) => chain).filter(({ twin }) => twin !== undefined));
  const scenarios = new Set(Array.from(chains, ({ scenario }) => scenario)).size;
  const names = unused.map(({ name }) => name).join(', ');
  const told = `left out: ${counted(leftOut, 'scenario')} with several steps or a start of their own, which a baseline cannot answer`;
  return [
    `${counted(scenarios, 'scenario')}: ${counted(chains.size, 'sample')}, ${counted(jobs.length, 'call')} including their twins`,
    ...(unused.length === 0 ? [] : [`left out, since no chosen row fits: ${names}`]),
    ...(leftOut === 0 ? [] : [told]),
  ];
}

/**
 * The suite, with the number of fitting chosen rows if the user names a data folder.
 * @throws UserError: the errors of opening either; 130 or 143 after an interrupt
 */
export async function listedSuite(settings: InferSettings, name: string, io: Io) {
  const suite = await openSuite(name, settings, io);
  if (settings.dataDir === INFER_OPTIONS['data-dir'].default) return listDocument(suite);
  return withData(settings, io, async ({ dataset, chosen }) => {
    const rows = new Map<string, number>();
    const fitting = fittingIn(dataset, suite.scenarios, io.stop);
    for (const row of chosen) {
      for (const { name: found } of await fitting(row)) rows.set(found, (rows.get(found) ?? 0) + 1);
    }
    return listDocument(suite, rows);
  });
}

/**
 * The suite that the user names, with the user's own domains if there are prompts for them.
 * @throws UserError: 66 if there is no such suite or folder of prompts, 65 with every fault of the suite by file and line
 */
async function openSuite(name: string, { domainPrompts }: InferSettings, { cwd }: Io): Promise<ScenarioSuite> {
  const files = domainPrompts === undefined ? [] : await listFolder(resolve(cwd, domainPrompts));
  const domains = files.flatMap((file) => /^(.*)\.txt$/s.exec(file)?.[1] ?? []);
  // Loaded only if needed, since the schema library takes a while.
  const { loadScenarioSuite } = await import('./suite.js');
  return loadScenarioSuite(name, { cwd, domains });
}

/** The planned chains as a stage. @throws UserError (2) for a budget in dollars without a price */
function scenarioStage(work: Instructing, run: Run): Stage<ScenarioJob> {
  const { dataset, jobs } = work;
  const { baseline } = work.settings;
  const { journal } = run;
  const recordIn = (id: string) => (journal.has(id) ? journal.read(id) : undefined);
  const answersBefore = ({ chain, step }: ScenarioJob) => answersOf(chain, step, recordIn);
  const says = baseline && baselineOf(baseline, dataset);
  /** A later step's record is valid as long as the answers before it. */
  const stampOf = (job: ScenarioJob, mark: string) =>
    job.step === 0 ? mark : `${hashOf(answersBefore(job).map(({ gen }) => gen))} ${mark}`;
  const questionOf = async (job: ScenarioJob): Promise<Question> => {
    const predictions = answersBefore(job).map(({ prediction }) => prediction);
    const messages = messagesAt(await startOf(work, job.chain), job.step, predictions, job.chain.twin !== undefined);
    return { messages };
  };
  return {
    ...stageOver(work, run),
    rows: jobs,
    order: jobs,
    stampOf: (job, _failure, mark) => stampOf(job, mark),
    isDone: ({ chain }, { status, class: failure }) => status === 'ok' || (chain.steps > 1 && isModelCaused(failure)),
    solve: oneByOne(async (job, ask) => {
      const { row, trajectory } = job.chain;
      const outcome = says
        ? await says(await dataset.readSample(present(row)), present(row))
        : await ask(async () => ({ ...(await questionOf(job)), seedOffset: 0 }));
      const prediction = { key: job.key, trajectory, repeat: 0 };
      return recordOf(job.id, prediction, { ...outcome, stamp: stampOf(job, markOf(run)) });
    }),
    questions: async (job) => [await questionOf(job)],
    // A scenario's prompt equals its twin's, except for the instruction.
    placeOf: ({ chain: { row, twin }, step }) =>
      row === undefined || twin !== undefined || step > 0 ? undefined : placeOfRow(dataset, row),
    compose: async (job, record) => lineOf(job, record, await startOf(work, job.chain), recordIn),
    outputForm: { jobs: hashOf(jobs.map(({ id }) => id)) },
    absent: {},
  };
}

/** Digits of a suite's fingerprint in identities and headings. */
const FINGERPRINT_DIGITS = 12;

function hashOf(texts: readonly string[]): string {
  return fingerprintOf(texts).slice(0, 16);
}

/** @param fit number of fitting rows by scenario name; undefined without data. A scenario with its own start needs no row. */
function listDocument({ name, fingerprint, scenarios }: ScenarioSuite, fit?: ReadonlyMap<string, number>) {
  return {
    schema: 'awb.scenario-suite/1',
    name,
    fingerprint,
    scenarios: scenarios.map(({ name, about, domains, put, instruction, steps, never, at }) => {
      const kinds = steps.flatMap(({ verify }) => verify.map(({ kind }) => kind));
      const verifiers = [...new Set<string>(kinds), ...(never.phrases.length > 0 || never.words > 0 ? ['never'] : [])];
      const own_start = 'start' in at;
      const rows = own_start || fit === undefined ? null : (fit.get(name) ?? 0);
      return { name, about, domains, put, instruction, steps: steps.length, verifiers, own_start, rows };
    }),
  };
}

const NAME_COLUMNS = 32;

/** One row per scenario. */
export function listTable({ name, fingerprint, scenarios }: ReturnType<typeof listDocument>): Table {
  return {
    columns: ['Scenario', 'Domains', 'Put', 'Steps', 'Rows', 'Verifiers'].map((heading) => {
      const align = heading === 'Steps' || heading === 'Rows' ? 'right' : 'left';
      return { heading, short: heading, align };
    }),
    groups: [
      scenarios.map((scenario) => [
        oneLine(scenario.name, NAME_COLUMNS),
        scenario.domains.map(domainName).join(' '),
        scenario.put,
        String(scenario.steps),
        scenario.own_start ? 'start' : String(scenario.rows ?? NONE),
        scenario.verifiers.join(' '),
      ]),
    ],
    footnotes: [
      `${oneLine(name, 40)}: ${counted(scenarios.length, 'scenario')}, fingerprint ${fingerprint.slice(0, 12)}. Rows: those of --data-dir that fit; start: the scenario has its own start.`,
    ],
  };
}
