// rollout.jsonl: every turn of every chain in order, as the world model was asked and what it said.

import type { Dataset, RowRef } from '../../../bench/dataset.js';
import { membersOf, withMembers } from '../../../bench/row-text.js';
import { isObject } from '../../../json.js';
import { recordedPrediction } from '../../../prediction.js';
import { rolloutStep } from '../../../rollout.js';
import type { JournalRecord } from '../../../run/journal-record.js';
import { observationOf, simulatedPrompt } from '../../../simulate/rollout-turn.js';
import type { Sample } from '../../../types.js';
import type { TurnJob } from './turn-jobs.js';

export const ROLLOUT_FILE = 'rollout.jsonl';

/** What a line has of its trajectory's row, as it stands there. */
const ROWS_OWN: ReadonlySet<string> = new Set(['task', 'id']);

/** The row that drives a chain, as its turns' lines need it. */
interface Driver {
  readonly row: RowRef;
  readonly text: string;
  readonly leftOut: ReadonlySet<string>;
  readonly sample: Sample;
}

/**
 * A line for each turn that has a record.
 * @param observedIn what the world model showed in a turn
 * @param recordOf the record that stands of a turn
 */
export async function* turnLines(
  dataset: Dataset,
  turns: readonly TurnJob[],
  observedIn: (job: TurnJob) => string,
  recordOf: (job: TurnJob) => JournalRecord | undefined,
): AsyncGenerator<string> {
  let driver: Driver | undefined;
  for (const job of turns) {
    const record = recordOf(job);
    if (record === undefined) continue;
    if (job.chain.driver !== driver?.row) driver = await openDriver(dataset, job.chain.driver);
    const { turn, chain } = job;
    const before = turn - 1 > chain.from ? observedIn(job.at(turn - 1)) : undefined;
    const members = membersOfTurn(job, driver.sample, before, record);
    yield withMembers(driver.text, driver.leftOut, members);
  }
}

async function openDriver(dataset: Dataset, row: RowRef): Promise<Driver> {
  const text = await dataset.readText(row);
  const leftOut = new Set(membersOf(text).flatMap(({ key }) => (ROWS_OWN.has(key) ? [] : [key])));
  return { row, text, leftOut, sample: await dataset.readSample(row) };
}

function membersOfTurn(
  { chain, turn, repeat, row, key }: TurnJob,
  driver: Sample,
  before: string | undefined,
  { row: { gen, awb } }: JournalRecord,
): Record<string, unknown> {
  const prediction = recordedPrediction({ awb });
  const isOk = prediction.status === 'ok';
  const { offScript = [] } = rolloutStep(isObject(awb) ? awb.rollout : undefined) ?? {};
  return {
    turn_idx: turn,
    trajectory: chain.trajectory,
    chain: chain.name,
    step: turn,
    distance: turn - chain.from,
    repeat,
    row: row === undefined ? null : key,
    prompt: simulatedPrompt(driver, turn, chain.from, before),
    observation: observationOf(isOk && typeof gen === 'string' ? gen : ''),
    status: prediction.status,
    ...(isOk ? {} : { class: prediction.class }),
    ...(offScript.length === 0 ? {} : { off_script: offScript }),
    gen,
  };
}
