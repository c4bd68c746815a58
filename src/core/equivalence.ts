// Decision equivalence: how far a predicted observation leads an agent where the true one leads it. Its measures, and what it comes to.

/** The measures of a row that it is made of, each 0 to 100. */
export const AGREEMENT = {
  /** The action after the predicted observation beside the two after the true one. */
  predicted: 'agreement',
  /** The two after the true one beside each other: the agent's own noise. */
  ceiling: 'agent_ceiling',
  /** The action after another row's observation beside the two after the true one: what agrees whatever is seen. */
  floor: 'agent_floor',
} as const;
