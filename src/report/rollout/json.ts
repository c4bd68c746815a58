// What a rollout scores as JSON.

import type { RolloutBin, RolloutCard, RolloutPart } from '../../rollout-card.js';
import { estimateDocument } from '../estimate-json.js';

/** The member `rollout` of a scored run's document. */
export function rolloutDocument(card: RolloutCard) {
  return {
    measure: card.measure ?? null,
    from: card.starts,
    ...partDocument(card.all),
    domains: Object.fromEntries(card.domains.map(({ domain, ...part }) => [domain, partDocument(part)])),
  };
}

function partDocument({ predictions, offScript, chains, distances, steps }: RolloutPart) {
  return {
    predictions,
    off_script: offScript,
    chains,
    by_distance: distances.map(binDocument),
    by_step: steps.map(binDocument),
  };
}

function binDocument({ from, to, score, onScript }: RolloutBin) {
  return {
    ...{ from, to, score: estimateDocument(score) },
    ...(onScript === undefined ? {} : { on_script: estimateDocument(onScript) }),
  };
}
