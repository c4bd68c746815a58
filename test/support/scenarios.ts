// Scenarios for tests, each with what the test is about.

import type { Verifier } from '../../src/simulate/scenarios/forms.js';
import type { Never, Scenario } from '../../src/simulate/scenarios/scenario.js';

const NEVER: Never = { phrases: ['as requested', 'simulat'], words: 4, own: [] };

/** A scenario of the terminal that applies everywhere, with these verifiers. */
export function scenarioOf(changes: Partial<Scenario> = {}, ...verify: Verifier[]): Scenario {
  return {
    name: 'full-disk',
    about: 'A write meets a full disk.',
    domains: ['terminal'],
    put: 'before-action',
    instruction: 'The disk is full.',
    framing: '**Simulation Instruction:**\n{instruction}',
    at: { applies: {} },
    steps: [{ verify: verify.length > 0 ? verify : [{ kind: 'contains', texts: ['No space left'] }] }],
    holds: 'each',
    never: NEVER,
    ...changes,
  };
}
