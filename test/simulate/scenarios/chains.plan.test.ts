// Which rows scenarios take: seeded, spread over trajectories, within the call limit, with one twin per row.

import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { openDataset, type RowRef } from '../../../src/benchmark/dataset.js';
import { present } from '../../../src/core/errors.js';
import { fittingIn, planOf, type ScenarioJob } from '../../../src/simulate/scenarios/chains.js';
import type { Scenario } from '../../../src/simulate/scenarios/scenario.js';
import { temporaryFolder } from '../../support/cli.js';
import { rowRefs } from '../../support/row-refs.js';
import { SAMPLE } from '../../support/sample.js';
import { scenarioOf } from '../../support/scenarios.js';
import { rowsFolder } from '../../support/scripted-scenarios.js';

function scenario(name: string, change: Partial<Scenario> = {}): Scenario {
  return {
    name,
    about: name,
    domains: ['mcp', 'web'],
    put: 'before-action',
    instruction: 'Do.',
    framing: '{instruction}',
    at: { applies: {} },
    steps: [{ verify: [{ kind: 'contains', texts: ['x'] }] }],
    holds: 'each',
    never: { phrases: [], words: 0, own: [] },
    ...change,
  };
}

const [verify] = [scenario('').steps[0]?.verify ?? []];
const steps = [{ verify }, { action: 'a', verify }, { action: 'b', verify }];
const A = scenario('a');
const B = scenario('b', { put: 'system' });
const REACH = scenario('reach', { steps, holds: 'any' });
const OWN = scenario('own', {
  at: { start: { domain: 'web', systemPrompt: 'You.' } },
  steps: [{ action: 'c', verify }, ...steps.slice(1)],
});

async function planned(
  scenarios: readonly Scenario[],
  choice: { seed?: number; rowsEach?: number; maxCalls?: number } = {},
  isFit: (scenario: Scenario, position: number) => boolean = () => true,
) {
  const data = await rowsFolder(join(await temporaryFolder(), 'data'), { mcp: 20, web: 20 });
  const dataset = await openDataset(data);
  const looked: number[] = [];
  try {
    const fitting = async ({ position }: RowRef) => {
      looked.push(position);
      return new Set(scenarios.filter((one) => isFit(one, position)));
    };
    const given = { seed: 0, rowsEach: 5, maxCalls: Number.POSITIVE_INFINITY, ...choice };
    return { ...(await planOf(dataset.rows, dataset.rows, scenarios, fitting, given)), looked };
  } finally {
    await dataset.close();
  }
}

const ids = (jobs: readonly ScenarioJob[]) => jobs.map(({ id }) => id);
const samplesOf = (jobs: readonly ScenarioJob[], { name }: Scenario) =>
  jobs.filter(
    ({ chain, step }) => chain.scenario?.name === name && chain.twin !== undefined && step === chain.steps - 1,
  );
const rowsOf = (jobs: readonly ScenarioJob[]) => jobs.map(({ chain }) => chain.row?.position);

describe('a plan', () => {
  it('is the same for the same seed, another for another, and part of a larger one', async () => {
    const { jobs } = await planned([A, B]);
    expect(ids((await planned([A, B])).jobs)).toEqual(ids(jobs));
    expect(ids((await planned([A, B], { seed: 1 })).jobs)).not.toEqual(ids(jobs));
    const larger = new Set(ids((await planned([A, B], { rowsEach: 8 })).jobs));
    expect(ids(jobs).filter((id) => !larger.has(id))).toEqual([]);
  });

  it('gives a scenario its maximum of rows of each domain, each from a different trajectory', async () => {
    const { jobs } = await planned([A, B]);
    for (const one of [A, B]) {
      const own = samplesOf(jobs, one);
      expect(own.map(({ domain }) => domain).sort()).toEqual([...Array(5).fill('mcp'), ...Array(5).fill('web')]);
      expect(new Set(own.map(({ chain }) => chain.trajectory)).size).toBe(10);
    }
  });

  it('takes the same rows for all scenarios that fit, so that one twin serves all', async () => {
    const { jobs } = await planned([A, B]);
    expect(rowsOf(samplesOf(jobs, A)).sort()).toEqual(rowsOf(samplesOf(jobs, B)).sort());
    expect(jobs.filter(({ chain }) => chain.scenario === undefined)).toHaveLength(10);
    expect(jobs).toHaveLength(30);
  });

  it('takes only rows that fit a scenario, reads each row once, and no more than needed', async () => {
    const { jobs, looked } = await planned([A, B], {}, (one, row) => one === A || row % 2 === 0);
    expect(rowsOf(samplesOf(jobs, B)).every((row) => Number(row) % 2 === 0)).toBe(true);
    expect(new Set(looked).size).toBe(looked.length);
    expect((await planned([A])).looked).toHaveLength(10);
  });

  it('never exceeds its calls, and all scenarios lose equally many rows', async () => {
    for (const maxCalls of [13, 20, 27]) {
      const { jobs, unused } = await planned([A, B, REACH], { maxCalls });
      expect(jobs.length).toBeLessThanOrEqual(maxCalls);
      expect(jobs.length).toBeGreaterThan(maxCalls - 6);
      const counts = [A, B, REACH].map((one) => samplesOf(jobs, one).length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      expect(unused).toEqual([]);
    }
  });

  it("gives every scenario a row before the suite's own starts take calls, and those before any second row", async () => {
    const few = await planned([OWN, A], { maxCalls: 4 });
    expect([samplesOf(few.jobs, A).length, samplesOf(few.jobs, OWN).length]).toEqual([2, 0]);
    const more = await planned([OWN, A], { maxCalls: 10 });
    expect([samplesOf(more.jobs, A).length, samplesOf(more.jobs, OWN).length]).toEqual([2, 1]);
  });

  it('is refused if the calls are too few for anything', async () => {
    await expect(planned([A], { maxCalls: 1 })).rejects.toThrow('--max-calls 1 is too few; a scenario needs two calls');
  });

  it('names the scenarios without a fitting row', async () => {
    const { unused } = await planned([A, B, OWN], {}, (one) => one === A);
    expect(unused.map(({ name }) => name)).toEqual(['b']);
  });

  it('asks unchanged rows of a trajectory and those with the same beginning together, and changed system prompts after them', async () => {
    const { jobs } = await planned([B, A], { rowsEach: 20 });
    const [first] = jobs;
    const own = jobs.filter(({ group }) => group === first?.group);
    expect(own.map(({ chain }) => chain.scenario?.name ?? 'twin')).toEqual(['twin', 'a', 'twin', 'a', 'b', 'b']);
    const turns = new Set(own.slice(0, 4).map(({ chain }) => chain.row));
    expect(turns.size).toBe(2);
  });

  it('asks a chain strictly in order, with its own twin, and counts it as one sample', async () => {
    const { jobs } = await planned([REACH, OWN], { rowsEach: 1 });
    const chains = [...new Set(jobs.map(({ chain }) => chain))];
    expect(chains).toHaveLength(6);
    for (const chain of chains) {
      const own = jobs.filter((job) => job.chain === chain);
      expect(own.map(({ step }) => step)).toEqual([0, 1, 2]);
      expect(new Set(own.map(({ group }) => group)).size).toBe(1);
      expect(own.every(({ serial }) => serial)).toBe(true);
      expect(own.filter(({ isFurther }) => isFurther !== true)).toHaveLength(chain.twin === undefined ? 0 : 1);
    }
    expect(new Set(ids(jobs)).size).toBe(18);
  });
});

const row = present(
  rowRefs([{ key: 'k', trajectory: 't', domain: 'terminal', id: '1', turnIdx: 1, line: 1, offset: 0, length: 1 }])[0],
);

function search() {
  const stop = new AbortController();
  const scenarios = [scenarioOf({ name: 'here', domains: ['terminal'] }), scenarioOf({ name: 'no', domains: ['web'] })];
  const readSample = async () => ({ ...SAMPLE, domain: 'terminal' });
  return { fitting: fittingIn({ readSample }, scenarios, stop.signal), stop };
}

describe('the search for rows that fit scenarios', () => {
  test('finds for a row the scenarios of its domain', async () => {
    const { fitting } = search();
    expect(Array.from(await fitting(row), ({ name }) => name)).toEqual(['here']);
  });

  test('ends once the user has interrupted', async () => {
    const { fitting, stop } = search();
    stop.abort('SIGINT');
    await expect(fitting(row)).rejects.toMatchObject({ exitCode: 130 });
  });
});
