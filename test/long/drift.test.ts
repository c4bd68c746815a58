// A world model with a known error rate per step, from infer to score: the drift is recovered, and is zero if there is none.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import { DIMENSIONS } from '../../src/core/types.js';
import type { RunDocument } from '../../src/view/documents.js';
import { openLibrary } from '../../src/view/library.js';
import { awb } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { verdict } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import {
  closeServers,
  messagesOf,
  saidBy,
  setUpRollout,
  tagged,
  trajectoryOf,
  turnOf,
} from '../support/rollout-runs.js';
import { documentsIn } from '../support/static-pages.js';
import { MARKER, TAIL, type TrajectoryRow } from '../support/trajectories.js';

const LINES = 20;
const TRAJECTORIES = 16;
/** On average, one new line of 20 is wrong per step: 5 points. */
const CHANCES = 4;
const CHANCE = 0.25;
const POINTS_A_STEP = -(100 / LINES) * CHANCES * CHANCE;

/** The environment's observation: twenty lines, one of which changes in each turn. */
function truth(id: number, turn: number): string[] {
  return Array.from({ length: LINES }, (_, line) => {
    const changed = Math.floor((turn + LINES - 1 - line) / LINES);
    return `field ${line} of ${id} is ${(id * 7919 + line * 104_729 + changed * 15_485_863) % 1_000_003}`;
  });
}

function rowsOf(id: number): TrajectoryRow[] {
  const at = [1, 2, 4, 5 + (id % 3)];
  const most = Math.max(...at);
  const prompts = Array.from({ length: most }, (_, turn) => `### Turn ${turn + 1}\n**Action:**\n{"step": ${turn + 1}}`);
  const response = Array.from({ length: most }, (_, turn) => MARKER + truth(id, turn + 1).join('\n'));
  return at.map((turn) => ({
    ...{ task: 'made-up/mcp', id, turn_idx: turn, total_turns: most, system_str: `You are environment ${id}.` },
    prompt: [...prompts.slice(0, turn - 1), prompts[turn - 1] + TAIL],
    response: response.slice(0, turn),
    current_prompt: prompts[turn - 1] ?? '',
  }));
}

const ROWS = Array.from({ length: TRAJECTORIES }, (_, id) => rowsOf(id + 1)).flat();

/** Makes new errors in some lines of each turn; `carries` says whether wrong lines in its history stay wrong. */
function worldModel(carries: boolean) {
  return (request: SeenRequest) => {
    const messages = messagesOf(request);
    const [id, turn] = [trajectoryOf(request), turnOf(request)];
    const before = (saidBy(messages).at(-1) ?? '').slice(MARKER.length).split('\n');
    const isRollout = saidBy(messages).join('').includes('wrong');
    const random = randomOf(id * 1000 + turn * 10 + (isRollout ? 1 : 2));
    const lines = truth(id, turn).map((line, at) => (carries && before[at]?.includes('wrong') ? 'wrong' : line));
    for (let chance = 0; chance < CHANCES; chance++) {
      if (random.uniform() >= CHANCE) continue;
      const right = lines.flatMap((line, at) => (line === 'wrong' ? [] : [at]));
      const place = right[Math.floor(random.uniform() * right.length)];
      if (place !== undefined) lines[place] = 'wrong';
    }
    return { content: tagged(lines.join('\n')) };
  };
}

/** Rates by correct lines: each wrong line of the twenty costs one of the twenty steps that five ratings have. */
function judge(request: SeenRequest) {
  const user = messagesOf(request).at(-1)?.content ?? '';
  const prediction = /<prediction-[^>]*>([\s\S]*?)<\/prediction-/.exec(user)?.[1] ?? '';
  const wrong = prediction.split('\n').filter((line) => line === 'wrong').length;
  const ratings = DIMENSIONS.map((name, at) => [name, 5 - Math.floor((wrong + at) / DIMENSIONS.length)] as const);
  return { content: verdict(Object.fromEntries(ratings)) };
}

let judging: LoopbackServer;
beforeAll(async () => {
  judging = await startLoopbackServer(judge);
});
afterAll(async () => {
  await closeServers();
  await judging.close();
});

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await awb(args);
  expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

/** Predicts in both ways, judges both in the same way, and scores the rollout next to the other. */
async function driftOf(asked: readonly string[], data: string, out: string, judgedBy: readonly string[]) {
  const [rollout, forced] = [join(out, 'rollout'), join(out, 'forced')];
  for (const [dir, more] of [[rollout, ['--rollout']] as const, [forced, []] as const]) {
    await done('infer', '--data-dir', data, '--output-dir', dir, ...asked, ...more);
    await done('judge', '--predictions', join(dir, 'predictions.jsonl'), '--output-dir', dir, ...judgedBy);
  }
  const db = join(out, 'awb.sqlite');
  await done('score', forced, '--db', db);
  return JSON.parse(await done('score', rollout, '--teacher-forced', forced, '--db', db, '--json')).rollout;
}

async function driftOfModel(carries: boolean, judgedBy: readonly string[]) {
  const { data, out, server } = await setUpRollout(ROWS, worldModel(carries));
  return driftOf(['--model-base-url', server.url, '--model-name', 'wm'], data, out, judgedBy);
}

const BY_LINES = () => ['--judge-base-url', judging.url, '--judge-model', 'judge'];

describe('the drift of a world model', () => {
  test('that gets one more line of twenty wrong in each step is 5 points per step, within its interval', async () => {
    const { drift, by_distance } = await driftOfModel(true, BY_LINES());
    const { slope } = drift.overall;
    expect(slope).toMatchObject({ rows: ROWS.length, clusters: TRAJECTORIES });
    expect(POINTS_A_STEP).toBe(-5);
    expect(slope.low).toBeLessThan(POINTS_A_STEP);
    expect(slope.high).toBeGreaterThan(POINTS_A_STEP);
    expect(slope.high).toBeLessThan(-3);
    expect(drift.domains.mcp.slope.value).toBe(slope.value);
    // At the first turn both were asked the same.
    expect(by_distance[0]).toMatchObject({ from: 1, difference: { rows: TRAJECTORIES } });
  });

  test('that errs as often but does not carry errors on has an interval that contains 0', async () => {
    const { slope } = (await driftOfModel(false, BY_LINES())).drift.overall;
    expect(slope.low).toBeLessThan(0);
    expect(slope.high).toBeGreaterThan(0);
    expect(slope.high - slope.low).toBeLessThan(3);
  });

  test('also appears in text measures, without a judge', async () => {
    const { measure, drift } = await driftOfModel(true, ['--mode', 'metrics']);
    expect(measure).toBe('chrf');
    expect(drift.overall.slope.high).toBeLessThan(-2);
  });

  /** What the page of a run says about its rollout. */
  const rolloutIn = ({ page }: RunDocument) =>
    page.blocks.find(({ title }) => title === 'Score by distance from the last true observation');

  test('is in the report next to the run with true histories; without it, only the curve is', async () => {
    const { data, out, server } = await setUpRollout(ROWS, worldModel(true));
    await driftOf(['--model-base-url', server.url, '--model-name', 'wm'], data, out, ['--mode', 'metrics']);
    const pageOf = async (...more: string[]) => {
      const page = join(out, 'report.html');
      await done('report', '--run', join(out, 'rollout/judged.jsonl'), '-o', page, ...more);
      return rolloutIn((await documentsIn(page)).run);
    };
    const beside = await pageOf('--compare', join(out, 'forced/judged.jsonl'));
    expect(beside?.curves?.curves.length).toBeGreaterThan(0);
    expect(beside?.note).toContain('Dashed: the same rows predicted with true histories');
    const alone = await pageOf();
    expect(alone?.curves?.curves).toHaveLength(beside?.curves?.curves.length ?? 0);
    expect(alone?.note).not.toContain('Dashed');
    // The viewer finds it by itself.
    const library = openLibrary([out], { io: ioIn(out), tool: 'awb 0' });
    const { runs } = await library.index();
    const shown = await Promise.all(runs.map(({ ref }) => library.document(`run/${ref}`) as Promise<RunDocument>));
    expect(shown.flatMap((run) => rolloutIn(run) ?? []).map(({ note }) => note?.includes('Dashed'))).toEqual([true]);
  });

  test('is also measured for a baseline: one that repeats the previous state loses a line per step of a rollout', async () => {
    const { data, out } = await setUpRollout(ROWS);
    const { drift, by_distance } = await driftOf(['--baseline', 'persistence'], data, out, ['--mode', 'metrics']);
    expect(drift.overall.slope.high).toBeLessThan(0);
    expect(by_distance.at(-1).difference.high).toBeLessThan(0);
  });

  test('stays separate: a rollout is not compared with an ordinary run, and has its own block in leaderboards', async () => {
    const { data, out, server } = await setUpRollout(ROWS, worldModel(true));
    await driftOf(['--model-base-url', server.url, '--model-name', 'wm'], data, out, ['--mode', 'metrics']);
    const db = join(out, 'awb.sqlite');
    const compared = await awb(['compare', join(out, 'forced'), join(out, 'rollout')]);
    expect(compared.code).toBe(78);
    expect(compared.stderr).toContain('no rollout in the base, rollout from 0 in the candidate');
    const { blocks } = JSON.parse(await done('leaderboard', '--db', db, '--format', 'json'));
    expect(
      blocks.map((block: { title: string }) => / protocol history(, rollout from 0)?$/.exec(block.title)?.[1]),
    ).toEqual([undefined, ', rollout from 0']);
  });
});
