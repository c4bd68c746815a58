// `awb infer --scenarios` from the suite to the file: rows are planned, asked and verified.

import { UserError } from '../../errors.js';
import { counted } from '../../figures.js';
import { wrapped } from '../../report/terminal.js';
import type { Scenario, ScenarioSuite } from '../../scenario.js';
import type { ShownSettings } from '../../settings/command.js';
import type { Settings } from '../../settings/options.js';
import type { Io } from '../../types.js';
import { printBill } from '../bill/dry-run.js';
import { askStage, runOptions, withRun } from '../command.js';
import { type ChosenRows, withChosenRows } from '../infer/chosen-rows.js';
import { predictionState } from '../infer/inferring.js';
import type { InferSettings } from '../infer/options.js';
import type { StageResult } from '../stage.js';
import { fittingIn } from './fitting.js';
import { isSample } from './jobs.js';
import type { SCENARIO_OPTIONS } from './options.js';
import { type Plan, planOf } from './plan.js';
import { type Instructing, scenarioIdentity, scenarioStage } from './stage.js';
import { openSuite } from './suite.js';

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
