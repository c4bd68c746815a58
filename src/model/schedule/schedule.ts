// A backend over the pool, for whoever asks by hooks.

import type { AskHooks, AskSignals, Backend, Job, Settled } from '../../types.js';
import type { ScheduleOptions } from '../backend.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { type Ask, openPool, type Pool } from './pool.js';

export function openSchedule(endpoints: readonly Endpoint[], options: ScheduleOptions): Backend {
  const pool = openPool(endpoints, options);
  return { ...pool, ask: (jobs, hooks, signals) => askByHooks(pool, jobs, hooks, signals) };
}

/** Jobs that are asked strictly one after the other. */
interface Chain<J extends Job> {
  readonly group: string;
  readonly jobs: J[];
  current: J;
}

function askByHooks<J extends Job>(
  pool: Pool,
  jobs: readonly J[],
  hooks: AskHooks<J>,
  { stop, abort }: AskSignals,
): Promise<void> {
  const solve = async (chain: Chain<J>, ask: Ask) => {
    for (const job of chain.jobs) {
      if (stop.aborted) return;
      chain.current = job;
      if ((await settleJob(job, hooks, ask, stop)) === 'ends-group') return;
    }
  };
  return pool.work(chainsOf(jobs), solve, { stop, abort }, ({ current }, cost) => hooks.tried?.(current, cost));
}

/** After a stop it is not asked again. */
async function settleJob<J extends Job>(job: J, hooks: AskHooks<J>, ask: Ask, stop: AbortSignal): Promise<Settled> {
  for (;;) {
    const outcome = await ask(() => hooks.request(job));
    const settled = await hooks.settle(job, outcome);
    if (outcome.status === 'interrupted' || stop.aborted) return 'ends-group';
    if (settled !== 'again') return settled;
  }
}

function chainsOf<J extends Job>(jobs: Iterable<J>): Chain<J>[] {
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
