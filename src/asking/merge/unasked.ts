// A stage of which nothing is asked: its output and its manifest are made of the journal as those of any other.

import type { Stage, StageJob } from '../stage-contract.js';

type Asking = 'settings' | 'order' | 'asks' | 'openBackend' | 'questions' | 'solve' | 'sent' | 'madeFrom';

export function unasked<J extends StageJob>(stage: Omit<Stage<J>, Asking>): Stage<J> {
  const nobody = () => {
    throw new Error('merging asks nobody');
  };
  return {
    ...stage,
    settings: { fresh: false },
    order: [],
    asks: () => false,
    openBackend: nobody,
    questions: nobody,
    solve: nobody,
    sent: { now: nobody, entered: nobody, enter: nobody },
    madeFrom: nobody,
  };
}
