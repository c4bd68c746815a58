// What those are called who were asked in a run.

import type { Asked } from '../costs.js';
import type { EquivalenceCard } from '../equivalence.js';

export type AskedNames = Readonly<Record<Asked, string>>;

/** @param equivalence of a run on decisions: who was asked about its predictions is an agent, and no judge */
export function askedNames(equivalence: EquivalenceCard | undefined): AskedNames {
  return { world_model: 'World model', judge: equivalence === undefined ? 'Judge' : 'Agent' };
}
