// A line of scenarios.jsonl: what was answered, and at the end of a chain what came of the scenario, held against its twin.

import type { JsonObject } from '../../json.js';
import { judgementMembers } from '../../judged-row.js';
import { measured, unmeasured, withoutPrediction } from '../../judgement.js';
import { recordedPrediction } from '../../prediction.js';
import { present } from '../../present.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Flag } from '../../types.js';
import type { RecordOf } from './answers.js';
import { type Found, foundIn } from './found.js';
import { type Chain, isSample, keyOfStep, type ScenarioJob } from './jobs.js';
import { actionOf, type Start } from './start.js';

/** The line of a step. */
export function lineOf(job: ScenarioJob, record: JournalRecord, start: Start, recordOf: RecordOf): string {
  const { chain, step } = job;
  const { scenario, row, domain: task, steps, twin } = chain;
  const names = {
    task,
    id: row === undefined ? scenario?.name : row.id,
    turn_idx: (row?.turnIdx ?? 1) + step,
    ...(scenario === undefined ? {} : { scenario: scenario.name }),
    ...(twin === undefined ? { twin: true } : {}),
    ...(steps === 1 ? {} : { step: step + 1, steps }),
    ...(scenario === undefined ? {} : { action: actionOf(start, step) }),
  };
  const members = isSample(job) ? sampleMembers(chain, record, start, foundIn(chain, start, recordOf)) : record.row;
  return JSON.stringify({ ...names, ...members });
}

/** What stands behind the names where a chain ends. */
function sampleMembers(chain: Chain, { row }: JournalRecord, { scenario }: Start, found: Found): JsonObject {
  const { trajectory, steps } = chain;
  const { gen } = row;
  // A record of predictions has these two; the check of the second is in reading it.
  const prediction = { key: keyOfStep(chain, steps - 1), trajectory, repeat: 0, gen: String(gen), ...awbIn(row) };
  const { failure, verdicts, measures } = found;
  const missing = failure && unmeasured(withoutPrediction(failure));
  const record = measures === undefined ? present(missing) : { ...(missing ?? measured(measures)), measures };
  return {
    instruction: present(scenario).instruction,
    gen,
    ...(verdicts === undefined ? {} : { verdicts }),
    ...judgementMembers(prediction, record, 0),
  };
}

function awbIn(row: JsonObject): { readonly awb: JsonObject; readonly flags: readonly Flag[] } {
  const awb = { ...recordedPrediction(row) };
  // Flags are written by the program alone, from the list of them.
  return { awb, flags: awb.flags as readonly Flag[] };
}
