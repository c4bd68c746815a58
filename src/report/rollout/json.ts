// What a rollout scores, and how it drifts, as JSON.

import { estimateDocument } from '../../core/document.js';
import type { Drift, Drifts, RolloutBin, RolloutCard, RolloutPart } from '../../stats/rollout-card.js';

/** The member `rollout` of a scored run's document. */
export function rolloutDocument(card: RolloutCard) {
  return {
    measure: card.measure ?? null,
    from: card.starts,
    ...partDocument(card.all),
    domains: Object.fromEntries(card.domains.map(({ domain, ...part }) => [domain, partDocument(part)])),
    ...(card.drift === undefined ? {} : { drift: driftDocument(card.drift) }),
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

function driftDocument({ paired, unpaired, domains, overall }: NonNullable<RolloutCard['drift']>) {
  return {
    paired,
    unpaired,
    domains: Object.fromEntries(domains.map(({ domain, ...drifts }) => [domain, driftsDocument(drifts)])),
    overall: driftsDocument(overall),
  };
}

function driftsDocument({ all, onScript }: Drifts) {
  return { ...driftFigures(all), ...(onScript === undefined ? {} : { on_script: driftFigures(onScript) }) };
}

function driftFigures(drift: Drift | undefined) {
  return {
    slope: drift?.slope === undefined ? null : estimateDocument(drift.slope),
    difference: drift === undefined ? null : estimateDocument(drift.difference),
  };
}

function binDocument({ from, to, score, onScript, paired }: RolloutBin) {
  return {
    ...{ from, to, score: estimateDocument(score) },
    ...(onScript === undefined ? {} : { on_script: estimateDocument(onScript) }),
    ...(paired === undefined
      ? {}
      : { teacher_forced: estimateDocument(paired.forced), difference: estimateDocument(paired.difference) }),
  };
}
