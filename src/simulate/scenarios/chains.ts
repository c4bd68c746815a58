// What a scenario run asks, and its results: chains of one or more steps, each a scenario at a start or the twin it is compared with; the
// messages of each step; and its line in scenarios.jsonl. Scenarios of a domain take the same few rows where they apply, so that twins are
// shared and prefix caches hit; the limit on calls cuts all scenarios equally.

import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { present, throwIfStopped, UserError } from '../../core/errors.js';
import { groupBy, inOrderOf } from '../../core/groups.js';
import { inHashOrder } from '../../core/identity.js';
import type { JsonObject } from '../../core/json.js';
import { judgementMembers } from '../../core/judged-row.js';
import { measured, unmeasured, withoutPrediction } from '../../core/judgement.js';
import { isModelCaused } from '../../core/points.js';
import { type NoPrediction, readPredictionRow, recordedPrediction } from '../../core/prediction.js';
import { OBSERVATION_MARKER, withoutMarker, writtenPrediction } from '../../core/reply.js';
import { rowId } from '../../core/row-id.js';
import { ownStart, type ScenarioMeasure, scenarioKey, stepKey, twinKey } from '../../core/scenario-row.js';
import { actionHeadingAt, groundTruthOf, languageOf, actionOf as turnOf } from '../../core/turn.js';
import type { ChatMessage, Domain, Flag } from '../../core/types.js';
import type { Inference } from '../../infer/inferring.js';
import { buildMessages } from '../../infer/messages.js';
import { actionText, type FreshStart, freshWorld, readTurnPrompt, requestOf, turnPrompt } from '../../infer/world.js';
import type { JournalRecord } from '../../run/journal.js';
import type { StageJob } from '../../run/stage-contract.js';
import { withSlots } from './forms.js';
import { applyingTo, keptLines, outcomeOf, type Predicted, type Scenario, scenarioAt } from './scenario.js';

/** Consecutive steps at a row of the data or at the suite's own start. */
interface Chain {
  /** Id of its records; for a row's twin, the row's key, as for any prediction of the row. */
  readonly key: string;
  /** Shared by the rows of a trajectory; each start of the suite's own has a separate one. */
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row of the data; undefined at the suite's own start. */
  readonly row: RowRef | undefined;
  /** Undefined for a twin that several scenarios share: it is the unchanged row, with its own step only. */
  readonly scenario: Scenario | undefined;
  /** The twin it is compared with; undefined for a twin itself. */
  readonly twin: Chain | undefined;
  readonly steps: number;
}

/** One step of a chain, asked once. */
export interface ScenarioJob extends StageJob {
  readonly chain: Chain;
  /** From 0. */
  readonly step: number;
  /** Id of the step's record; the last step's represents the chain. */
  readonly key: string;
}

/** An unchanged row. */
function twinOfRow(row: RowRef): Chain {
  const { key, trajectory, domain } = row;
  return { key, trajectory, domain, row, scenario: undefined, twin: undefined, steps: 1 };
}

/**
 * A scenario at a row, or at its own start if there is no row. With one step, it is compared with the row's twin; otherwise with its own
 * twin, which takes the same steps.
 */
function chainOf(scenario: Scenario, domain: Domain, row?: Chain): Chain {
  const key = scenarioKey(row?.key ?? ownStart(scenario.name), scenario.name);
  const steps = scenario.steps.length;
  const chain = { key, trajectory: row?.trajectory ?? key, domain, row: row?.row, scenario, steps };
  const twin = row !== undefined && steps === 1 ? row : { ...chain, key: twinKey(key, steps), twin: undefined };
  return { ...chain, twin };
}

/** A chain's steps in order. They are asked one after another: each sees the results of the previous ones. */
function jobsOf(chain: Chain): ScenarioJob[] {
  const { domain, trajectory, key, steps } = chain;
  const isSerial = steps > 1;
  return Array.from({ length: steps }, (_, step) => ({
    id: stepId(chain, step),
    domain,
    group: isSerial ? key : trajectory,
    serial: isSerial || undefined,
    isFurther: !isSample({ chain, step }) || undefined,
    chain,
    step,
    key: stepKey(key, step, steps),
  }));
}

/** Whether a step represents a sample: the last step of a chain does; a twin is not a sample. */
export function isSample({ chain: { twin, steps }, step }: Pick<ScenarioJob, 'chain' | 'step'>): boolean {
  return twin !== undefined && step === steps - 1;
}

/** The journal's id of a step. */
function stepId({ key, steps }: Chain, step: number): string {
  return rowId(stepKey(key, step, steps), 0);
}

/** Finds the scenarios that apply to a row of the data. */
type Fitting = ReturnType<typeof fittingIn>;

/**
 * Takes rows in rounds, one per scenario and domain at a time, until each has its maximum or no calls are left. The suite's own starts come
 * after the first round. A row's twin is asked once, however many scenarios use the row.
 * @param fitting finds the scenarios that apply to a row of the data
 * @param choice `rowsEach`: most rows of a domain per scenario; `maxCalls`: most calls, including those of twins
 * @throws UserError (2) if there are too few calls for a single scenario
 */
export async function planOf(
  rows: readonly RowRef[],
  chosen: readonly RowRef[],
  scenarios: readonly Scenario[],
  fitting: Fitting,
  choice: { readonly seed: number; readonly rowsEach: number; readonly maxCalls: number },
) {
  const twins = new Map<RowRef, Chain>();
  const taken: Chain[] = [];
  let callsLeft = choice.maxCalls;
  // Once one chain does not fit, no more are taken, so that all scenarios lose equally.
  let areSpent = false;
  const take = (chain: Chain) => {
    const twin = present(chain.twin);
    const isAsked = chain.row !== undefined && twins.get(chain.row) === twin;
    const needed = chain.steps + (isAsked ? 0 : twin.steps);
    areSpent ||= needed > callsLeft;
    if (areSpent) return;
    callsLeft -= needed;
    if (chain.row !== undefined && twin.scenario === undefined) twins.set(chain.row, twin);
    taken.push(chain);
  };
  const queues = [...groupBy(chosen, ({ domain }) => domain)].map(([domain, members]) => ({
    scenarios: scenarios.filter(({ at, domains }) => 'applies' in at && domains.includes(domain)),
    nextRow: rowsToTake(members, choice.seed, fitting),
  }));
  for (let round = 0; round < choice.rowsEach && !areSpent; round++) {
    for (const queue of queues) {
      for (const scenario of queue.scenarios) {
        const row = areSpent ? undefined : await queue.nextRow(scenario);
        if (row !== undefined) take(chainOf(scenario, row.domain, twins.get(row) ?? twinOfRow(row)));
      }
    }
    for (const scenario of round === 0 ? scenarios : []) {
      if ('start' in scenario.at) take(chainOf(scenario, scenario.at.start.domain));
    }
  }
  if (taken.length === 0 && areSpent) {
    throw new UserError(`--max-calls ${choice.maxCalls} is too few; a scenario needs two calls, one for the twin`);
  }
  const used = new Set(taken.map(({ scenario }) => scenario));
  return {
    /** In the order in which they are asked. */
    jobs: inOrder(rows, scenarios, taken),
    /** Scenarios that apply to no chosen row and have no start of their own. */
    unused: areSpent ? [] : scenarios.filter((scenario) => !used.has(scenario)),
  };
}

/**
 * Orders chains by domain and trajectory. In a trajectory, the unchanged rows and those with the instruction before the action come first,
 * since they share everything before it; then, scenario by scenario, the rows with a changed system prompt, which share nothing with
 * those. So prefix caches hit as often as possible. Chains at the suite's own starts come last.
 */
function inOrder(rows: readonly RowRef[], scenarios: readonly Scenario[], taken: readonly Chain[]): ScenarioJob[] {
  const domains = [...new Set(rows.map(({ domain }) => domain))];
  const numberOf = new Map(scenarios.map((scenario, number) => [scenario, number]));
  const placeOf = ({ row, domain, scenario }: Chain): number[] => {
    const number = scenario === undefined ? -1 : present(numberOf.get(scenario));
    if (row === undefined) return [Number.POSITIVE_INFINITY, number];
    const layer = scenario?.put === 'system' ? number : -1;
    return [domains.indexOf(domain), row.trajectoryNumber, layer, row.turnIdx, row.position, number];
  };
  const chains = new Set(taken.flatMap((chain) => [present(chain.twin), chain]));
  return inOrderOf(chains, placeOf).flatMap(jobsOf);
}

/**
 * A domain's rows in the order in which scenarios take them: every trajectory provides one row before any provides a second. The order
 * depends only on the seed, so choosing more rows keeps the earlier ones.
 */
function inTakingOrder(members: readonly RowRef[], seed: number): RowRef[] {
  const ranked = <T>(items: readonly T[], nameOf: (item: T) => string) =>
    inHashOrder(items, (item) => `scenarios ${seed} ${nameOf(item)}`);
  const trajectories = ranked([...groupBy(members, (row) => row.trajectory)], ([trajectory]) => trajectory).map(
    ([, own]) => ranked(own, ({ key }) => key),
  );
  const most = Math.max(0, ...trajectories.map((own) => own.length));
  return Array.from({ length: most }, (_, round) => trajectories.flatMap((own) => own[round] ?? [])).flat();
}

/**
 * Returns the domain's next row that fits a scenario, each at most once per scenario; undefined if none is left. Rows are examined lazily,
 * each once.
 */
function rowsToTake(members: readonly RowRef[], seed: number, fitting: Fitting) {
  const order = inTakingOrder(members, seed);
  const fits: Promise<ReadonlySet<Scenario>>[] = [];
  const places = new Map<Scenario, number>();
  return async (scenario: Scenario): Promise<RowRef | undefined> => {
    for (let place = places.get(scenario) ?? 0; place < order.length; place++) {
      const row = present(order[place]);
      fits[place] ??= fitting(row);
      places.set(scenario, place + 1);
      if ((await present(fits[place])).has(scenario)) return row;
    }
    return undefined;
  };
}

/**
 * Finds the scenarios that apply to a row; a row is read once for all of them.
 * @throws UserError: 130 or 143 after an interrupt
 */
export function fittingIn(dataset: Pick<Dataset, 'readSample'>, scenarios: readonly Scenario[], stop: AbortSignal) {
  return async (row: RowRef): Promise<ReadonlySet<Scenario>> => {
    throwIfStopped(stop);
    return new Set(applyingTo(await dataset.readSample(row), scenarios));
  };
}

// The messages of a chain: at its start, with and without the instruction, and after each predicted step.

type Start = Awaited<ReturnType<typeof startOf>>;

export async function startOf({ dataset, prompts, settings }: Inference, { row, domain, scenario }: Chain) {
  if (row !== undefined) {
    const sample = await dataset.readSample(row);
    return {
      domain,
      /** With its slots filled; undefined for a row's twin. Scenarios only take rows to which they apply. */
      scenario: scenario && present(scenarioAt(scenario, sample)),
      /** The first step's messages, without the instruction. */
      messages: buildMessages(sample, settings.protocol, prompts.of(sample)),
      action: readTurnPrompt(turnOf(sample)).action,
      /** The environment's real answer; undefined if there is no row. */
      truth: withoutMarker(groundTruthOf(sample)),
    };
  }
  if (scenario === undefined || !('start' in scenario.at)) throw new TypeError('a chain without a row has a start');
  const action = ownAction(scenario, 0);
  return { domain, scenario, messages: startMessages(scenario.at.start, action), action, truth: undefined };
}

/** The messages of the first step at a start of the suite's own, without the instruction. */
export function startMessages(start: FreshStart, action: string): ChatMessage[] {
  const question = requestOf(freshWorld(start), action);
  return 'messages' in question ? [...question.messages] : [];
}

/**
 * The messages of a step.
 * @param predictions the world model's predictions in the earlier steps
 * @param isTold whether they include the instruction
 */
export function messagesAt(
  { domain, scenario, messages }: Start,
  step: number,
  predictions: readonly string[],
  isTold: boolean,
): readonly ChatMessage[] {
  let told = isTold ? putScenario(present(scenario), messages) : messages;
  for (let next = 1; next <= step; next++) {
    const prediction = predictions[next - 1] ?? '';
    told = nextStep(told, { domain, prediction, action: ownAction(present(scenario), next) });
  }
  return told;
}

/** The action of a step; at a row, the first action is the row's own. */
function actionOf({ scenario, action }: Start, step: number): string {
  return step === 0 ? action : ownAction(present(scenario), step);
}

function ownAction({ steps }: Scenario, step: number): string {
  return present(steps[step]?.action);
}

/** How the request to predict after a turn's prompt begins in rows of the benchmark. */
const REQUEST = '\n\nPlease analyze the input above';

/**
 * The messages of the next step: the request is removed from the last prompt, the prediction (without thinking, tag and marker) follows it
 * as the observation, and the next action is asked with the removed request. If turns after the first repeat the screen's state, the
 * next one also does, with the prediction.
 */
export function nextStep(
  messages: readonly ChatMessage[],
  { domain, prediction, action }: { readonly domain: Domain; readonly prediction: string; readonly action: string },
): ChatMessage[] {
  const asked = messages.at(-1)?.content ?? '';
  const cut = asked.lastIndexOf(REQUEST);
  const [prompt, request] = cut < 0 ? [asked, ''] : [asked.slice(0, cut), asked.slice(cut)];
  const turn = Number(/^### Turn (\d+)/.exec(prompt)?.[1] ?? 1);
  const { state } = readTurnPrompt(prompt);
  const text = actionText(domain, action);
  const next = turnPrompt({
    turn: turn + 1,
    ...(turn > 1 && state !== undefined ? { state: { ...state, text: prediction } } : {}),
    action: text,
    language: languageOf(domain, text),
  });
  return [
    ...messages.slice(0, -1),
    { role: 'user', content: prompt },
    { role: 'assistant', content: `${OBSERVATION_MARKER}\n${prediction}` },
    { role: 'user', content: next + request },
  ];
}

/** The messages of a turn with the scenario's instruction in them, in its framing. The scenario's slots are filled. */
export function putScenario({ put, framing, instruction }: Scenario, messages: readonly ChatMessage[]): ChatMessage[] {
  const told = withSlots(framing, { instruction }).trim();
  if (put === 'system') {
    const [first, ...others] = messages;
    if (first?.role !== 'system') return [{ role: 'system', content: told }, ...messages];
    return [{ role: 'system', content: `${first.content.trimEnd()}\n\n${told}` }, ...others];
  }
  const last = present(messages.at(-1));
  const prompt = last.content;
  // Before the action's heading; else after the line that names the turn.
  const heading = actionHeadingAt(prompt);
  const at = heading < 0 ? (/^### Turn \d+[ \t]*\n/.exec(prompt)?.[0].length ?? 0) : heading;
  return [...messages.slice(0, -1), { ...last, content: `${prompt.slice(0, at)}${told}\n\n${prompt.slice(at)}` }];
}

// A line of scenarios.jsonl: the answer, and at the end of a chain the scenario's result, compared with its twin.

/** Returns the record of a step; undefined if there is no valid one. */
type RecordOf = (id: string) => JournalRecord | undefined;

/** The line of a step. */
export function lineOf(job: ScenarioJob, record: JournalRecord, start: Start, recordOf: RecordOf): string {
  const { chain, step } = job;
  const { scenario, row, domain: task, steps, twin } = chain;
  return JSON.stringify({
    task,
    id: row === undefined ? scenario?.name : row.id,
    turn_idx: (row?.turnIdx ?? 1) + step,
    scenario: scenario?.name,
    twin: twin === undefined || undefined,
    ...(steps > 1 && { step: step + 1, steps }),
    action: scenario && actionOf(start, step),
    ...(isSample(job) ? sampleMembers(job, record.row, start, recordOf) : record.row),
  });
}

/** The members after the names at the end of a chain. */
function sampleMembers({ chain, key }: ScenarioJob, row: JsonObject, start: Start, recordOf: RecordOf): JsonObject {
  const { failure, verdicts, measures } = foundIn(chain, start, recordOf);
  const awb = { ...recordedPrediction(row) };
  // A prediction's record has a text, and its flags are written only by this program, from the list of flags.
  const said = { gen: String(row.gen), awb, flags: awb.flags as readonly Flag[] };
  const prediction = { key, trajectory: chain.trajectory, repeat: 0, ...said };
  const missing = failure && unmeasured(withoutPrediction(failure));
  const record = measures === undefined ? present(missing) : { ...(missing ?? measured(measures)), measures };
  const { instruction } = present(start.scenario);
  return { instruction, gen: row.gen, verdicts, ...judgementMembers(prediction, record, 0) };
}

type Answer = ReturnType<typeof answersOf>[number];

/** The world model's answers in a chain's first steps, up to the first missing one. */
export function answersOf(chain: Chain, steps: number, recordOf: RecordOf) {
  const records = Array.from({ length: steps }, (_, step) => recordOf(stepId(chain, step)));
  const end = records.indexOf(undefined);
  return records.slice(0, end < 0 ? steps : end).map((record) => {
    const { gen, failure } = present(readPredictionRow(present(record).row));
    return { gen, prediction: writtenPrediction(gen), failure };
  });
}

/** Why a chain has no result, or how the model failed to answer; of several reasons, the first not caused by the model comes first. */
function failureOf(answers: readonly Answer[]): NoPrediction | undefined {
  const failures = answers.flatMap(({ failure }) => failure ?? []);
  return failures.find(({ class: name }) => !isModelCaused(name)) ?? failures[0];
}

/**
 * The findings in a chain's predictions, compared with its twin's: the verdicts by step, the measures based on them, and why a step has no
 * prediction; only the latter if the chain has no result.
 *
 * Followed and leaked are 0 or 100. A step without a prediction, if caused by the model, follows nothing; if no step has a prediction,
 * leaked is unknown. Undisturbed is the share of lines still present among those that the twin predicts correctly and the instruction
 * does not change; it is absent if the twin predicts no such line correctly. The twin is a false positive if it counts as followed.
 */
function foundIn(chain: Chain, start: Start, recordOf: RecordOf) {
  const answers = answersOf(chain, chain.steps, recordOf);
  const failure = failureOf(answers);
  if (failure !== undefined && !isModelCaused(failure.class)) return { failure };
  const scenario = present(start.scenario);
  const twins = knownAnswers(present(chain.twin), recordOf);
  const steps = predictedSteps(start, answers, twins);
  const { followed, leaked, steps: verdicts } = outcomeOf(scenario, steps);
  const undisturbed = twins && undisturbedIn(scenario, steps);
  const measures: Partial<Record<ScenarioMeasure, number>> = { followed: 100 * Number(followed) };
  if (answers.some((answer) => answer.failure === undefined)) measures.leaked = 100 * Number(leaked);
  if (undisturbed !== undefined) measures.undisturbed = undisturbed;
  if (twins !== undefined) {
    const untouched = outcomeOf(scenario, predictedSteps(start, twins, undefined));
    measures.twin_false_positives = 100 * Number(untouched.followed);
  }
  return { verdicts, measures, failure };
}

/** A twin's answers; undefined if one of them is unknown. */
function knownAnswers(twin: Chain, recordOf: RecordOf): readonly Answer[] | undefined {
  const answers = answersOf(twin, twin.steps, recordOf);
  const failure = failureOf(answers);
  return answers.length === twin.steps && (failure === undefined || isModelCaused(failure.class)) ? answers : undefined;
}

function predictedSteps(start: Start, answers: readonly Answer[], twins: readonly Answer[] | undefined): Predicted[] {
  const predictions = answers.map(({ prediction }) => prediction);
  return answers.map(({ prediction }, step) => ({
    domain: start.domain,
    prediction,
    action: actionOf(start, step),
    seen: messagesAt(start, step, predictions, false)
      .map(({ content }) => content)
      .join('\n'),
    truth: step > 0 ? undefined : start.truth,
    twin: twins?.[step]?.prediction,
  }));
}

/** Over all steps with a verifier for what must not change. */
function undisturbedIn(scenario: Scenario, steps: readonly Predicted[]): number | undefined {
  let [kept, all] = [0, 0];
  for (const [index, { verify }] of scenario.steps.entries()) {
    const step = steps[index];
    const verifier = verify.find((each) => each.kind === 'unchanged_elsewhere');
    if (step === undefined || verifier === undefined) continue;
    const lines = keptLines(step, verifier.except);
    kept += lines.kept;
    all += lines.of;
  }
  return all === 0 ? undefined : (100 * kept) / all;
}
