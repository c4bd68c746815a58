// What a recorded action refers to although the rollout never showed it: the truth did, and nothing that the model was given did.

import { withoutMarker } from '../reply.js';
import { actionHeadingAt } from '../turn.js';
import type { Sample } from '../types.js';
import { plain, referencesIn } from './references.js';

/**
 * The references of the turn's action to what true observations showed after the rollout began, and nothing shows that stands before it
 * in the rollout: no prompt, no observation, given or predicted, and no system prompt.
 * @param turn the turn as it is put to the model: its last prompt is the action's
 * @param hidden the true observations in whose places predictions stand
 */
export function offScript(turn: Sample, hidden: readonly string[]): string[] {
  const before = hidden.map((text) => plain(withoutMarker(text)));
  const unseen = referencesIn(turn.domain, turn.currentPrompt).filter(({ isIn }) => before.some(isIn));
  if (unseen.length === 0) return [];
  const shown = [
    turn.systemPrompt,
    ...turn.prompts.slice(0, -1),
    ...turn.responses,
    beforeAction(turn.currentPrompt),
  ].map(plain);
  return unseen.filter(({ isIn }) => !shown.some(isIn)).map(({ text }) => text);
}

function beforeAction(prompt: string): string {
  return prompt.slice(0, Math.max(0, actionHeadingAt(prompt)));
}
