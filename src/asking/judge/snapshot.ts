// The snapshot that answers behind the judge's name: found out by asking, and one and the same for a whole judging.

import { EXIT, UserError } from '../../errors.js';
import { recordedJudgement } from '../../judgement.js';
import type { Run } from '../run.js';
import type { AskModel } from '../stage-contract.js';

/** Takes the snapshot from the rows judged before, where a kill left it out of the manifest. */
export function adoptSnapshot(run: Run): void {
  if (run.identity.snapshot !== undefined) return;
  const judged = firstJudged(run);
  if (judged === undefined) return;
  const { model } = recordedJudgement(run.journal.read(judged).row).judge;
  if (model !== undefined) run.identity = { ...run.identity, snapshot: model };
}

function firstJudged({ journal }: Run): string | undefined {
  for (const id of journal.ids()) if (journal.summaryOf(id)?.status === 'ok') return id;
  return undefined;
}

/** Asks one snapshot alone. @throws UserError (78) where another one answers */
export function sameSnapshot(run: Run, ask: AskModel): AskModel {
  return async (question) => {
    const outcome = await ask(question);
    if (outcome.status === 'ok') requireSameSnapshot(run, outcome.servedModel);
    return outcome;
  };
}

/**
 * A judge is the snapshot that answers, not the name it is asked by.
 * @throws UserError (78) where the server reports another one than for the rows judged before.
 */
function requireSameSnapshot(run: Run, served: string | undefined): void {
  if (served === undefined) return;
  const { snapshot } = run.identity;
  if (snapshot === undefined) run.identity = { ...run.identity, snapshot: served };
  else if (snapshot !== served) {
    throw new UserError(
      `the judge now answers as "${served}", the rows before were judged by "${snapshot}": ratings of two judges must not mix; ask for one snapshot by its full name, or start over with --fresh${run.kind === 'judge' ? ' (--recheck N measures the shift)' : ''}`,
      EXIT.identityDiffers,
    );
  }
}
