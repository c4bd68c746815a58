// Judging in a mode with two parts, a chat and a completion, over a loopback judge.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openPredictions } from '../../src/benchmark/predictions.js';
import { measured, unmeasured } from '../../src/core/judgement.js';
import type { Io } from '../../src/core/types.js';
import { judgementState } from '../../src/judge/asking.js';
import { type Judging, judgeIdentity, judgeStage } from '../../src/judge/judging.js';
import type { Mode, Reading } from '../../src/judge/mode.js';
import { JUDGE_OPTIONS, type JudgeSettings } from '../../src/judge/opening.js';
import { askStage } from '../../src/run/command.js';
import type { Manifest } from '../../src/run/manifest.js';
import { openRun } from '../../src/run/run.js';
import type { StageResult } from '../../src/run/stage.js';
import { targetAt } from '../../src/run/target.js';
import { inferred, type Row, rowsOf } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import { resolveWith } from '../support/settings.js';

interface Guess extends Reading {
  readonly bits: number;
}
interface Word extends Reading {
  readonly word: string;
}

/** A first part that wants a number, and a second that completes the truth; together they give two measures. */
const twoParts: Mode<readonly [Guess, Word]> = {
  help: 'asks a number and a word',
  noun: 'guesses',
  asksJudge: true,
  rates: false,
  measures: {
    bits: { range: [0, Number.POSITIVE_INFINITY], better: 'smaller' },
    letters: { range: [0, 100], better: 'larger' },
  },
  open: async () => ({
    name: 'two-parts',
    identity: { version: 1 },
    refusal: () => undefined,
    parts: ({ sample, gen }) => [
      {
        request: () => ({ messages: [{ role: 'user', content: `bits of ${gen.length} units?` }] }),
        read: ({ content }) => {
          const bits = Number.parseFloat(content);
          return Number.isNaN(bits) ? { status: 'unreadable', reason: 'no number' } : { status: 'ok', bits };
        },
      },
      {
        request: () => ({ prompt: `In ${sample.domain} one word is` }),
        read: ({ content }) => ({ status: 'ok', word: content }),
      },
    ],
    join: ([guess, word]) => measured({ bits: guess.reading.bits, letters: word.reading.word.length }),
    fail: (failure, _subject, reply) => unmeasured(failure, { reply }),
  }),
};

let server: LoopbackServer | undefined;
afterEach(() => server?.close());

const io: Io = {
  stdout: { isTTY: false, columns: 80, write() {} },
  stderr: { isTTY: false, columns: 80, write() {} },
  env: {},
  cwd: '/',
  stop: new AbortController().signal,
  setLastWords() {},
  stdinClosed: () => new Promise(() => {}),
};

interface Judged {
  readonly rows: Row[];
  readonly result: StageResult;
  readonly asked: readonly SeenRequest[];
}

type Folder = Awaited<ReturnType<typeof inferred>>;

async function judge(
  answer: (request: SeenRequest) => string,
  flags: Record<string, string[]> = {},
  into?: Folder,
): Promise<Judged> {
  await server?.close();
  server = await startLoopbackServer((request) => ({ content: answer(request) }));
  const folder = into ?? (await inferred(['--domains', 'os,web']));
  const given = { predictions: [folder.predictions], concurrency: ['1'], seed: ['7'], ...flags };
  const { settings: resolved, shown } = await resolveWith(JUDGE_OPTIONS, { flags: given });
  // The options are those of awb judge.
  const settings = resolved as JudgeSettings;
  const named = { prefix: 'judge', baseUrls: [server.url], model: 'j', apiKey: undefined } as const;
  const work: Judging = {
    settings,
    io,
    shown,
    predictions: await openPredictions(folder.predictions, undefined),
    inferred: undefined,
    mode: twoParts,
    method: await twoParts.open({ verdicts: 'strict', rubrics: () => Promise.reject(new Error('not wanted')) }),
    target: targetAt(named, io),
    pricing: () => undefined,
    dir: folder.dir,
  };
  const identity = (stored: Manifest | undefined) => judgeIdentity(work, stored);
  const run = await openRun({
    kind: 'judge',
    dir: folder.dir,
    name: 'judged',
    fresh: false,
    identity,
    stateOf: judgementState,
  });
  try {
    const result = await askStage(judgeStage(work, run, work.predictions.refs, settings.judgeRepeats));
    return { rows: await rowsOf(join(folder.dir, 'judged.jsonl')), result, asked: server.requests };
  } finally {
    await run.close();
    await work.predictions.close();
  }
}

it('asks both parts of a row one after the other, and joins the results in one record', async () => {
  const { rows, result, asked } = await judge(({ body }) => ('prompt' in body ? ' rain' : '2.5'));
  expect(result.exitCode).toBe(0);
  expect(asked.map(({ path }) => path)).toEqual([
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/chat/completions',
    '/v1/completions',
  ]);
  expect(asked[1]?.body.prompt).toMatch(/^In (os|web) one word is$/);
  expect(rows).toHaveLength(2);
  for (const row of rows) {
    expect(row.awb).toMatchObject({ judge: { status: 'ok' }, measures: { bits: 2.5, letters: 5 } });
    expect(row).not.toHaveProperty('failed');
  }
  expect(result.manifest.identity).toMatchObject({ judge: 'j', version: 1 });
});

it('retries an unreadable part at once, without the other part, and under a seed of its own', async () => {
  let chats = 0;
  const { rows, asked } = await judge(({ body }) => ('prompt' in body ? 'sun' : chats++ === 0 ? 'well' : '1'));
  expect(asked.map(({ body }) => 'prompt' in body)).toEqual([false, false, true, false, true]);
  expect(new Set(asked.slice(0, 3).map(({ body }) => body.seed)).size).toBe(3);
  expect(rows.map((row) => row.awb.measures)).toEqual([
    { bits: 1, letters: 3 },
    { bits: 1, letters: 3 },
  ]);
});

it('fails a row if one part stays unreadable, and asks no further part of it', async () => {
  const { rows, result, asked } = await judge(() => 'well', { 'max-retries': ['2'] });
  expect(result.exitCode).toBe(3);
  expect(asked.map(({ body }) => 'prompt' in body)).toEqual([false, false, false, false]);
  for (const row of rows) {
    expect(row.awb.judge).toMatchObject({
      status: 'failed',
      class: 'unreadable',
      reason: 'no number',
      raw_output: 'well',
    });
  }
});

it('asks all parts for each of several judgements', async () => {
  const { rows, asked } = await judge(({ body, index }) => ('prompt' in body ? 'sun' : String(index)), {
    'judge-repeats': ['2'],
  });
  expect(asked).toHaveLength(8);
  expect(new Set(asked.slice(0, 4).map(({ body }) => body.seed)).size).toBe(4);
  expect(rows.map((row) => row.awb.judge.index)).toEqual([undefined, 1, undefined, 1]);
});
