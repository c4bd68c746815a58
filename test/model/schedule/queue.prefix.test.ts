// What a server with a prefix cache is charged for the orders of asking, beside the size of the tree that all prompts make.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, leastBlocks, PrefixBlocks, promptOf } from '../../../bench/prefix-blocks.mjs';
import { type Dataset, openDataset, type RowRef } from '../../../src/benchmark/dataset.js';
import type { PredictionRef } from '../../../src/benchmark/predictions.js';
import { loadRubricPack } from '../../../src/benchmark/rubric-pack.js';
import { chooseRows } from '../../../src/benchmark/selection.js';
import { present } from '../../../src/core/errors.js';
import { randomOf } from '../../../src/core/random.js';
import type { Job, Sample } from '../../../src/core/types.js';
import { inAskingOrder, jobsOf as inferJobs } from '../../../src/infer/inferring.js';
import { buildMessages } from '../../../src/infer/messages.js';
import { inJudgeOrder, jobsOf } from '../../../src/judge/judging.js';
import { buildJudgeMessages } from '../../../src/judge/rubric.js';
import { Course as Asked, type Call, Lane, type Task } from '../../../src/model/schedule/lane.js';
import { Pace, systemClock } from '../../../src/model/schedule/pace.js';
import { Todo } from '../../../src/model/schedule/todo.js';

const SLOTS = 4;
let data: Dataset;
let samples: readonly Sample[];

beforeAll(async () => {
  data = await openDataset(fileURLToPath(new URL('../../../fixtures/recorded', import.meta.url)));
  samples = await Promise.all(data.rows.map((row) => data.readSample(row)));
});
afterAll(() => data.close());

/** Who takes the next job, and which of the running ones ends next. */
interface Course {
  take(): number | undefined;
  release(job: number): void;
}

async function liveCourse(jobs: readonly Job[]): Promise<Course> {
  const settings = {
    ...{ concurrency: SLOTS, ceiling: SLOTS, maxAttempts: 1, retryMs: 0, waitReadyMs: 0, keepGoing: true },
    ...{ clock: systemClock, random: () => 0, onNotice: () => {}, pace: new Pace() },
  };
  const endpoint = { host: 'a', call: () => Promise.reject(), close: () => Promise.resolve() };
  const lane = new Lane(endpoint, settings);
  const todo = new Todo([lane], settings);
  const never = new AbortController().signal;
  const tasks = jobs.map(({ group }): Task => ({ group, solve: async () => {}, tried: () => {} }));
  const places = new Map(tasks.map((task, place) => [task, place]));
  todo.add(tasks, new Asked({ stop: never, abort: never }));
  const taken = new Map<number, Call>();
  return {
    take() {
      const call = todo.take(lane);
      if (call === undefined) return undefined;
      const place = present(places.get(call.job));
      taken.set(place, call);
      return place;
    },
    release: (place) => todo.release(present(taken.get(place))),
  };
}

/** As an engine takes the lines of a batch file: in their order, whatever still runs. */
function batchCourse(jobs: readonly Job[]): Course {
  let next = 0;
  return { take: () => (next < jobs.length ? next++ : undefined), release: () => {} };
}

/** What is charged, as a multiple of the least possible, which is 1 at least where all are asked; the slots end in any order. */
function chargeOf(prompts: readonly string[], course: Course): number {
  const random = randomOf(7);
  const cache = new PrefixBlocks(SLOTS * Math.max(...prompts.map((prompt) => blocksOf(prompt).length)));
  const running: { readonly job: number; readonly request: ReturnType<PrefixBlocks['begin']> }[] = [];
  for (;;) {
    for (let job = running.length < SLOTS ? course.take() : undefined; job !== undefined; ) {
      running.push({ job, request: cache.begin(present(prompts[job])) });
      job = running.length < SLOTS ? course.take() : undefined;
    }
    const [ended] = running.splice(Math.floor(random.uniform() * running.length), 1);
    if (ended === undefined) return cache.charged / leastBlocks(prompts);
    cache.end(ended.request);
    course.release(ended.job);
  }
}

const SHARDS = [undefined, '1/2', '2/2'];

describe.each(SHARDS.map((shard) => ({ shard, name: shard === undefined ? 'all rows' : `shard ${shard}` })))(
  '$name under prefix order are charged at most 1.05 times the least possible',
  ({ shard }) => {
    const chosen = () => chooseRows(data.rows, { sampleSeed: 0, shard });
    const courses = { live: liveCourse, 'as lines of a batch file': batchCourse };

    test.each(Object.keys(courses))('infer with repeats, %s', async (name) => {
      const order = askingOrder(chosen(), 'prefix');
      const prompts = order.map(({ row }) => inferPrompt(row));
      expectLeast(chargeOf(prompts, await courses[name as keyof typeof courses](order)));
    });

    test.each(Object.keys(courses))('judge with repeats, %s', async (name) => {
      const pack = await loadRubricPack('awb-3');
      const refs = chosen().map(refOf);
      const order = inJudgeOrder(jobsOf(refs, 2));
      const prompts = order.map(({ ref }) => {
        const sample = sampleOf(present(ref.row));
        return promptOf(buildJudgeMessages(pack, sample, `prediction of ${ref.key}`));
      });
      expectLeast(chargeOf(prompts, await courses[name as keyof typeof courses](order)));
    });
  },
);

test('other orders are charged more: the cache of this test does not hold everything', async () => {
  const order = askingOrder(chooseRows(data.rows, { sampleSeed: 0 }), 'random');
  const prompts = order.map(({ row }) => inferPrompt(row));
  expect(chargeOf(prompts, batchCourse(order))).toBeGreaterThan(1.5);
});

function expectLeast(charge: number): void {
  expect(charge).toBeGreaterThanOrEqual(1);
  expect(charge).toBeLessThan(1.05);
}

function askingOrder(chosen: readonly RowRef[], order: 'prefix' | 'random') {
  return inAskingOrder(inferJobs(data, chosen, 3, []), chosen, { order, sampleSeed: 0, repeats: 3 });
}

function sampleOf({ position }: RowRef): Sample {
  return present(samples[position]);
}

function inferPrompt(row: RowRef): string {
  const sample = sampleOf(row);
  return promptOf(buildMessages(sample, 'history', sample.systemPrompt));
}

function refOf(row: RowRef): PredictionRef {
  return { ...row, repeat: 0, stamp: 's', row };
}
