// rollout.jsonl: every turn of every chain in order, as the world model was asked and what it said.

import type { Dataset } from '../../../bench/dataset.js';
import { membersOf, withMembers } from '../../../bench/row-text.js';
import type { List } from '../../../list.js';
import { recordedPrediction } from '../../../prediction.js';
import type { JournalRecord } from '../../../run/journal-record.js';
import { observationOf, simulatedTurn } from '../../../simulate/rollout-turn.js';
import type { Histories } from './histories.js';
import type { TurnJob } from './turn-jobs.js';

export const ROLLOUT_FILE = 'rollout.jsonl';

/** What a line has of its trajectory's row, as it stands there. */
const ROWS_OWN: ReadonlySet<string> = new Set(['task', 'id']);

/** A line for each turn that has a record. @param recordOf the record that stands of a turn */
export async function* turnLines(
  dataset: Dataset,
  turns: List<TurnJob>,
  histories: Histories,
  recordOf: (job: TurnJob) => JournalRecord | undefined,
): AsyncGenerator<string> {
  let driver = { row: -1, text: '', leftOut: ROWS_OWN };
  for (const job of turns) {
    const record = recordOf(job);
    if (record === undefined) continue;
    if (job.chain.driver !== driver.row) driver = await openDriver(dataset, job.chain.driver);
    yield withMembers(driver.text, driver.leftOut, await membersOfTurn(dataset, job, histories, record));
  }
}

async function openDriver(dataset: Dataset, row: number) {
  const text = await dataset.readText(row);
  const leftOut = new Set(membersOf(text).flatMap(({ key }) => (ROWS_OWN.has(key) ? [] : [key])));
  return { row, text, leftOut };
}

async function membersOfTurn(
  dataset: Dataset,
  job: TurnJob,
  histories: Histories,
  { row: { gen, awb } }: JournalRecord,
): Promise<Record<string, unknown>> {
  const { chain, turn, repeat, row, key } = job;
  const { observations } = histories.before(job);
  const { currentPrompt } = simulatedTurn(await dataset.readSample(chain.driver), { from: chain.from, observations });
  const prediction = recordedPrediction({ awb });
  const isOk = prediction.status === 'ok';
  return {
    turn_idx: turn,
    trajectory: chain.trajectory,
    chain: chain.name,
    step: turn,
    distance: turn - chain.from,
    repeat,
    row: row === undefined ? null : key,
    prompt: currentPrompt,
    observation: observationOf(isOk && typeof gen === 'string' ? gen : ''),
    status: prediction.status,
    ...(isOk ? {} : { class: prediction.class }),
    gen,
  };
}
