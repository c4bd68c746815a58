// Decision equivalence: how often a predicted observation leads an agent to the same action as the true one. Its measures.

/** The measures of a row that it is computed from, each 0 to 100. */
export const AGREEMENT = {
  /** The action after the predicted observation, compared with the two after the true one. */
  predicted: 'agreement',
  /** The two actions after the true one, compared with each other: the agent's own noise. */
  ceiling: 'agent_ceiling',
  /** The action after another row's observation, compared with the two after the true one: what agrees whatever the agent sees. */
  floor: 'agent_floor',
} as const;
