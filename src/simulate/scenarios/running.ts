// `awb infer --scenarios` from the suite to the file: rows are planned, asked and verified; and `--list-scenarios`: what a suite holds.

import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openDataset } from '../../benchmark/dataset.js';
import { holdsRows } from '../../benchmark/hub/source-record.js';
import { listFolder } from '../../benchmark/prompts.js';
import { chooseRows } from '../../benchmark/selection.js';
import { UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { wrapped } from '../../core/terminal.js';
import type { Io } from '../../core/types.js';
import { type ChosenRows, choiceOf, requireData, requireUsable, withChosenRows } from '../../infer/chosen-rows.js';
import { predictionState } from '../../infer/inferring.js';
import { INFER_OPTIONS, type InferSettings, takenShard } from '../../infer/options.js';
import { printBill } from '../../run/bill.js';
import { askStage, runOptions, withRun } from '../../run/command.js';
import type { StageResult } from '../../run/stage.js';
import type { ShownSettings } from '../../settings/command.js';
import type { OptionTable, Settings } from '../../settings/options.js';
import { isSample } from './chain.js';
import { fittingIn, type Plan, planOf } from './plan.js';
import type { Scenario, ScenarioSuite } from './scenario.js';
import { loadScenarioSuite } from './suite.js';
import { type Instructing, scenarioIdentity, scenarioStage } from './task.js';

/** The options of awb infer that put instructions to the world model, beside those of every inference. */
export const SCENARIO_OPTIONS = {
  scenarios: {
    kind: 'text',
    value: 'SUITE',
    group: 'Simulation',
    help: 'put instructions to the world model and verify what it makes of them: standard, or a folder of scenarios',
  },
  'scenario-rows': {
    kind: 'integer',
    min: 1,
    default: 20,
    group: 'Simulation',
    help: 'rows of each domain that a scenario takes at most, one of every trajectory first',
  },
  'max-calls': {
    kind: 'integer',
    min: 1,
    group: 'Simulation',
    help: 'calls at most; every scenario gives up rows alike',
  },
  'list-scenarios': {
    kind: 'boolean',
    group: 'Simulation',
    help: 'list the scenarios of the suite, and to how many rows of --data-dir each applies; nothing is asked',
  },
} as const satisfies OptionTable;

export type ScenarioSettings = InferSettings & Settings<typeof SCENARIO_OPTIONS>;

/** What came of asking, and the file that it went to. */
interface Instructed {
  readonly result: StageResult;
  readonly file: string;
  /** Whether there is anything to tell of the file: a twin alone tells nothing, and who has interrupted waits for nothing. */
  readonly isTold: boolean;
}

/**
 * Puts the suite's scenarios to the world model.
 * @returns undefined where only the bill was wanted, which is printed
 * @throws UserError: what opening data, suite and model throws; 2 where no chosen row is fit for any scenario
 */
export async function instruct(
  settings: ScenarioSettings & { readonly scenarios: string },
  io: Io,
  shown: ShownSettings,
): Promise<Instructed | undefined> {
  if (settings.repeats > 1) {
    throw new UserError('--repeats does not go with --scenarios: take more rows instead, with --scenario-rows');
  }
  if (settings.rollout) {
    throw new UserError('--rollout does not go with --scenarios: give each a folder and a command of its own');
  }
  const suite = await openSuite(settings.scenarios, settings, io);
  return withChosenRows(settings, io, async (rows) => {
    const scenarios = askable(suite.scenarios, settings);
    const plan = await planOf(
      rows.dataset.rows,
      rows.chosen,
      scenarios,
      fittingIn(rows.dataset, scenarios, settings, io),
      {
        seed: settings.sampleSeed,
        rowsEach: settings.scenarioRows,
        maxCalls: settings.maxCalls ?? Number.POSITIVE_INFINITY,
      },
    );
    if (plan.jobs.length === 0) throw nothingToAsk(suite, rows);
    const lines = planText(plan, suite.scenarios.length - scenarios.length);
    const said = lines.flatMap((line) => wrapped(line, io.stderr.columns, 2));
    if (!settings.quiet) io.stderr.write(`${said.join('\n')}\n\n`);
    return askPlanned({ settings, io, shown, suite, jobs: plan.jobs, ...rows });
  });
}

async function askPlanned(work: Instructing): Promise<Instructed | undefined> {
  const { settings, io } = work;
  return withRun(
    {
      ...runOptions(settings, io),
      kind: 'scenarios',
      name: 'scenarios',
      identity: (stored) => scenarioIdentity(work, stored),
      stateOf: predictionState,
      pricing: work.pricing,
    },
    async (run) => {
      const stage = scenarioStage(work, run);
      if (settings.dryRun) {
        await printBill(stage);
        return undefined;
      }
      const result = await askStage(stage);
      const isTold = !io.stop.aborted && work.jobs.some((job) => isSample(job) && run.journal.has(job.id));
      return { result, file: run.outputPath, isTold };
    },
  );
}

/** A baseline answers for rows alone: it knows of no start of a suite's own, and of no step behind a row. */
function askable(scenarios: readonly Scenario[], { baseline }: InferSettings): readonly Scenario[] {
  if (baseline === undefined) return scenarios;
  return scenarios.filter(({ at, steps }) => 'applies' in at && steps.length === 1);
}

/** What is asked, and what of the suite is not, a sentence each. */
function planText({ jobs, unused }: Plan, leftOut: number): string[] {
  const chains = new Set(jobs.map(({ chain }) => chain).filter(({ twin }) => twin !== undefined));
  const scenarios = new Set(Array.from(chains, ({ scenario }) => scenario)).size;
  const names = unused.map(({ name }) => name).join(', ');
  return [
    `${counted(scenarios, 'scenario')}: ${counted(chains.size, 'sample')}, with their twins ${counted(jobs.length, 'call')}`,
    ...(unused.length === 0 ? [] : [`fit for no chosen row, and left out: ${names}`]),
    ...(leftOut === 0
      ? []
      : [
          `${counted(leftOut, 'scenario')} that a baseline knows nothing of ${leftOut === 1 ? 'is' : 'are'} left out: of several steps, or at a start of its own`,
        ]),
  ];
}

function nothingToAsk({ name, scenarios }: ScenarioSuite, { chosen }: ChosenRows): UserError {
  const wanted = [...new Set(scenarios.flatMap(({ domains }) => domains))].sort();
  const there = [...new Set(chosen.map(({ domain }) => domain))].sort();
  return new UserError(
    `no chosen row is fit for a scenario of ${name}: they are for ${wanted.join(', ')}, and the chosen rows are of ${there.join(', ') || 'no domain'}; choose others with --domains, --ids and --sample, or name another suite`,
  );
}

interface ListedSuite {
  readonly suite: ScenarioSuite;
  /** Chosen rows that each scenario is fit for, by its name; undefined without data. */
  readonly rows: ReadonlyMap<string, number> | undefined;
}

/**
 * The suite, held to the chosen rows where there is data: in the folder that the user names, or in the usual one if that holds any.
 * @throws UserError: what opening either throws, 130 or 143 once the user has interrupted
 */
export async function listedSuite(settings: InferSettings, name: string, io: Io): Promise<ListedSuite> {
  const suite = await openSuite(name, settings, io);
  const usual = INFER_OPTIONS['data-dir'].default;
  if (settings.dataDir === usual && !(await hasRows(resolve(io.cwd, usual)))) return { suite, rows: undefined };
  await requireData(settings.dataDir, io);
  const dataset = await openDataset(resolve(io.cwd, settings.dataDir), io.stop);
  try {
    requireUsable(dataset, settings, io);
    const rows = new Map<string, number>();
    const chosen = chooseRows(dataset.rows, choiceOf({ ...settings, shard: takenShard(settings, io) }, dataset));
    const fitting = fittingIn(dataset, suite.scenarios, { quiet: settings.quiet, ofRows: chosen.length }, io);
    for (const row of chosen) {
      for (const { name: found } of await fitting(row)) rows.set(found, (rows.get(found) ?? 0) + 1);
    }
    return { suite, rows };
  } finally {
    await dataset.close();
  }
}

async function hasRows(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.some((name) => holdsRows({ name }));
}

const PROMPT = /\.txt$/;

/**
 * The suite that the user names, with domains of the user's own where there are prompts for them.
 * @throws UserError: 66 where there is no such suite or folder of prompts, 65 with every fault of the suite by file and line
 */
async function openSuite(
  name: string,
  { domainPrompts }: Pick<InferSettings, 'domainPrompts'>,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<ScenarioSuite> {
  const files = domainPrompts === undefined ? [] : await listFolder(resolve(cwd, domainPrompts));
  const domains = files.filter((file) => PROMPT.test(file)).map((file) => file.replace(PROMPT, ''));
  return loadScenarioSuite(name, { cwd, domains });
}
