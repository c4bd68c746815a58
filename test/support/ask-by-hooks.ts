// Asks a backend job by job: `request` makes the request, and `settle` says whether the job is done, asked again, or ends its group.

import type {
  Ask,
  AskSignals,
  Backend,
  CallCost,
  FileHooks,
  Job,
  ModelOutcome,
  ModelRequest,
} from '../../src/core/types.js';

/** In a serial group, no job is asked before the previous one is settled. */
export interface HookedJob extends Job {
  readonly serial?: true | undefined;
}

export interface Hooks<J extends HookedJob> {
  request(job: J): Promise<ModelRequest>;
  settle(job: J, outcome: ModelOutcome): Promise<'done' | 'again' | 'ends-group'>;
  tried?(job: J, cost: CallCost): void;
  readonly files?: FileHooks<J>;
}

interface Chain<J> extends Job {
  readonly jobs: J[];
  current: J;
}

export async function askByHooks<J extends HookedJob>(
  backend: Backend,
  jobs: readonly J[],
  hooks: Hooks<J>,
  signals: AskSignals,
): Promise<void> {
  const { files, tried } = hooks;
  const solve = async (chain: Chain<J>, ask: Ask) => {
    for (const job of chain.jobs) {
      if (signals.stop.aborted) return;
      chain.current = job;
      if ((await settleJob(job, hooks, ask, signals.stop)) === 'ends-group') return;
    }
  };
  await backend.work(chainsOf(jobs), solve, signals, {
    tried: ({ current }, cost) => tried?.(current, cost),
    ...(files !== undefined && {
      files: {
        kept: ({ current }) => files.kept(current),
        replayed: ({ current }, cost) => files.replayed(current, cost),
      },
    }),
  });
}

async function settleJob<J extends HookedJob>(job: J, hooks: Hooks<J>, ask: Ask, stop: AbortSignal) {
  for (;;) {
    const outcome = await ask({ make: () => hooks.request(job) });
    const settled = await hooks.settle(job, outcome);
    if (outcome.status === 'interrupted' || stop.aborted) return 'ends-group';
    if (settled !== 'again') return settled;
  }
}

function chainsOf<J extends HookedJob>(jobs: readonly J[]): Chain<J>[] {
  const serial = new Map<string, J[]>();
  const chains: Chain<J>[] = [];
  for (const job of jobs) {
    const begun = job.serial ? serial.get(job.group) : undefined;
    if (begun !== undefined) {
      begun.push(job);
      continue;
    }
    const own = [job];
    if (job.serial) serial.set(job.group, own);
    chains.push({ group: job.group, jobs: own, current: job });
  }
  return chains;
}
