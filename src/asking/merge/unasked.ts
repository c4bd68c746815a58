// A stage of which nothing is asked: its output and its manifest are made of the journal as those of any other.

import type { Stage, StageJob } from '../stage-contract.js';

type Asking = 'settings' | 'order' | 'asks' | 'settleAlone' | 'openBackend' | 'request' | 'settle';

export function unasked<J extends StageJob>(stage: Omit<Stage<J>, Asking>): Stage<J> {
  const nobody = () => Promise.reject(new Error('merging asks nobody'));
  return {
    ...stage,
    settings: { fresh: false },
    order: [],
    asks: () => false,
    settleAlone: nobody,
    openBackend: nobody,
    request: nobody,
    settle: nobody,
  };
}
