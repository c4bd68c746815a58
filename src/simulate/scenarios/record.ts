// The journal's record of a step: of a reply, of a call that failed, or of what a baseline says.

import { STAMP_KEY } from '../../asking/run.js';
import { flagsOf } from '../../infer/observation.js';
import { predicted, unpredicted } from '../../prediction.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Flag, ModelFailure, ModelReply } from '../../types.js';
import { keyOfStep, type ScenarioJob } from './jobs.js';

/** @param stamp what the record is made from and with */
export function recordOf(job: ScenarioJob, outcome: ModelReply | ModelFailure, stamp: string): JournalRecord {
  const log = { ...outcome.log, [STAMP_KEY.scenarios]: stamp };
  return outcome.status === 'failed'
    ? { id: job.id, row: unpredicted(idOf(job), outcome), log: logOf(log) }
    : {
        id: job.id,
        row: predicted(idOf(job), outcome, flagsOfReply(outcome)),
        log: logOf({ ...log, model: outcome.servedModel }),
      };
}

export function recordOfText(job: ScenarioJob, content: string, stamp: string): JournalRecord {
  return {
    id: job.id,
    row: predicted(idOf(job), { content }, flagsOf({ content })),
    log: logOf({ [STAMP_KEY.scenarios]: stamp }),
  };
}

function idOf({ chain, step }: ScenarioJob) {
  return { key: keyOfStep(chain, step), trajectory: chain.trajectory, repeat: 0 };
}

/** Nobody judges these predictions, so what would deceive a judge is not looked for. */
function flagsOfReply(reply: ModelReply): Flag[] {
  const flags = flagsOf(reply);
  if (reply.fittedMaxTokens !== undefined) flags.push('fitted-max-tokens');
  if (reply.redacted !== undefined) flags.push('redacted');
  return flags;
}

function logOf(log: object): Record<string, unknown> {
  return { ...log, at: new Date().toISOString() };
}
