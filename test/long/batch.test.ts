// Runs with batch files end like live runs: the same replies give the same bytes, however their results arrive.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answersTo, requestsIn, resultLines, writeResults } from '../support/batch-answers.js';
import { awb, RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { caseIn, marked, type Row, verdict } from '../support/judging.js';
import { type Answer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { randomFrom } from '../support/random.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const ROWS = 24;
const SCORES = ['format', 'factuality', 'consistency', 'realism', 'quality'];
const OVERFLOW = {
  error: {
    message: "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
  },
};

const FAILED: Answer = { status: 500, body: { error: { message: 'try again', type: 'server_error' } } };

/** The same answer for the same request. It depends on the messages, and on the first try also on the seed. */
function answerOf(body: Row, mayFail: boolean): Answer {
  const { messages, seed } = body;
  const asked = JSON.stringify(messages);
  const isJudge = asked.includes('"factuality');
  const hash = createHash('sha256')
    .update(isJudge ? caseIn(body) : asked)
    .digest('hex');
  const kind = Number.parseInt(hash.slice(0, 2), 16) % 8;
  const isFirst = seed === 5;
  if (isJudge) {
    const scores = SCORES.map((name, at) => [name, 1 + (Number.parseInt(hash[at] ?? '0', 16) % 5)]);
    const reply = marked(verdict(Object.fromEntries(scores)), { body });
    return { content: kind < 2 && isFirst ? 'I would rather not say.' : reply };
  }
  const content = `<predicted_observation>\nsaw ${hash.slice(0, 8)}\n</predicted_observation>`;
  if (kind === 0) return { status: 400, body: OVERFLOW };
  if (kind === 1) return { content: '', finishReason: 'content_filter' };
  if (kind === 2 && isFirst && mayFail) return FAILED;
  return { content, finishReason: kind === 3 ? 'length' : 'stop', ...(kind === 4 && { reasoning: 'thinking' }) };
}

let server: LoopbackServer;
let data: string;
let live: string;

const inferArgs = (output: string) => [
  ...['infer', '--data-dir', data, '--output-dir', output, '--model-base-url', server.url, '--model-name', 'wm'],
  ...['--seed', '5', '--quiet'],
];
const judgeArgs = (predictions: string, output: string) => [
  ...['judge', '--predictions', predictions, '--output-dir', output, '--judge-base-url', server.url],
  ...['--judge-model', 'judge', '--seed', '5', '--quiet', '--judge-repeats', '2'],
];

beforeAll(async () => {
  // The last rows of a live run would treat a server that fails twice in a row as down, and wait under the same seed.
  let latest: Answer | undefined;
  server = await startLoopbackServer(
    ({ body }) => {
      latest = answerOf(body, latest !== FAILED);
      return latest;
    },
    { record: false },
  );
  data = await writeDataset(await temporaryFolder(), {
    'mcp_test.jsonl': madeUpRows('mcp', ROWS / 2),
    'terminal_test.jsonl': madeUpRows('terminal', ROWS / 2),
  });
  live = await temporaryFolder();
  expect((await awb(inferArgs(live))).code).toBe(3);
  expect((await awb(judgeArgs(join(live, 'predictions.jsonl'), live))).code).toBe(3);
}, 180_000);

afterAll(() => server.close());

/** The characters sent according to each row's record, by row. */
async function charsIn(dir: string): Promise<Record<string, number | undefined>> {
  const lines = (await readFile(join(dir, 'predictions.journal.jsonl'), 'utf8')).trimEnd().split('\n');
  return Object.fromEntries(lines.map((line) => JSON.parse(line)).map(({ id, log }) => [id, log.chars]));
}

/** Repeats the command until nothing is awaited; each time `answer` puts results of the latest requests in the folder. */
async function untilDone(
  args: readonly string[],
  dir: string,
  answer: (requests: Awaited<ReturnType<typeof requestsIn>>, round: number) => Promise<void>,
): Promise<{ readonly code: number; readonly rounds: number; readonly said: string[] }> {
  const said: string[] = [];
  const written = new Set<string>();
  for (let round = 1; ; round++) {
    const { code, stdout, stderr } = await awb([...args, '--batch-dir', dir]);
    said.push(stdout + stderr);
    if (code !== 75) return { code, rounds: round, said };
    const requests = (await requestsIn(dir)).filter(({ custom_id }) => !written.has(custom_id));
    expect(requests.length).toBeGreaterThan(0);
    for (const { custom_id } of requests) written.add(custom_id);
    expect(round).toBeLessThan(10);
    await answer(requests, round);
  }
}

const WAYS = {
  'one file as OpenAI writes it': async (dir: string, requests: never[], round: number) => {
    const answers = await answersTo(requests, server.url);
    await writeResults(dir, `outputs-${round}.jsonl`, resultLines(answers, 'openai'));
  },
  'one file as vLLM writes it': async (dir: string, requests: never[], round: number) => {
    const answers = await answersTo(requests, server.url);
    await writeResults(dir, `results-${round}.jsonl`, resultLines(answers, 'vllm'));
  },
  'completions directly under response': async (dir: string, requests: never[], round: number) => {
    const answers = await answersTo(requests, server.url);
    await writeResults(dir, `bare-${round}.jsonl`, resultLines(answers, 'bare'));
  },
  'several files, errors apart, shuffled and with each line twice': async (
    dir: string,
    requests: never[],
    round: number,
  ) => {
    const answers = await answersTo(requests, server.url);
    const random = randomFrom(round);
    const shuffled = [...answers, ...answers].sort(() => random() - 0.5);
    const good = resultLines(
      shuffled.filter(({ status }) => status === 200),
      'openai',
    );
    const bad = resultLines(
      shuffled.filter(({ status }) => status !== 200),
      'openai',
    );
    await writeResults(dir, `a-${round}.jsonl`, good.slice(0, 5));
    await writeResults(dir, `b-${round}.jsonl`, good.slice(5));
    await writeResults(dir, `errors-${round}.jsonl`, bad);
  },
} as const;

describe('a run with batch files writes the bytes of a live run', () => {
  test.each(Object.entries(WAYS))('with %s', async (_, answer) => {
    const out = await temporaryFolder();
    const [predictions, batch, judging] = [join(out, 'predictions.jsonl'), join(out, 'batch'), join(out, 'judging')];
    const inferred = await untilDone(inferArgs(out), batch, (requests, round) =>
      answer(batch, requests as never[], round),
    );
    expect(inferred).toMatchObject({ code: 3 });
    expect(inferred.rounds).toBeGreaterThan(2);
    expect(await readFile(predictions, 'utf8')).toBe(await readFile(join(live, 'predictions.jsonl'), 'utf8'));
    expect(await charsIn(out)).toEqual(await charsIn(live));
    const judged = await untilDone(judgeArgs(predictions, out), judging, (requests, round) =>
      answer(judging, requests as never[], round),
    );
    expect(judged).toMatchObject({ code: 3 });
    expect(await readFile(join(out, 'judged.jsonl'), 'utf8')).toBe(await readFile(join(live, 'judged.jsonl'), 'utf8'));
  });
});

describe('every kind of run', () => {
  test('with rows that are asked several things continues with the next one from each result', async () => {
    const [out, plain] = [await temporaryFolder(), await temporaryFolder()];
    const args = (folder: string) => [
      ...['judge', '--predictions', join(live, 'predictions.jsonl'), '--output-dir', folder, '--quiet'],
      ...['--mode', 'decision', '--judge-base-url', server.url, '--judge-model', 'agent', '--seed', '5'],
    ];
    const alive = await awb(args(plain));
    const dir = join(out, 'batch');
    const { code, rounds } = await untilDone(args(out), dir, (requests, round) =>
      WAYS['one file as OpenAI writes it'](dir, requests as never[], round),
    );
    expect(code).toBe(alive.code);
    expect(rounds).toBeGreaterThan(2);
    expect(await readFile(join(out, 'judged.jsonl'), 'utf8')).toBe(await readFile(join(plain, 'judged.jsonl'), 'utf8'));
  }, 180_000);

  test('that calibrates a judge ends with the bytes of a live one', async () => {
    const [out, plain] = [await temporaryFolder(), await temporaryFolder()];
    const args = (folder: string) => [
      ...['calibrate', '--data-dir', RECORDED, '--output-dir', folder, '--quiet', '--max-calls', '60', '--seed', '5'],
      ...['--judge-base-url', server.url, '--judge-model', 'judge', '--db', join(folder, 'a.sqlite')],
    ];
    const alive = await awb(args(plain));
    const dir = join(out, 'batch');
    const { code } = await untilDone(args(out), dir, (requests, round) =>
      WAYS['one file as OpenAI writes it'](dir, requests as never[], round),
    );
    expect(code).toBe(alive.code);
    expect(await readFile(join(out, 'calibration.jsonl'), 'utf8')).toBe(
      await readFile(join(plain, 'calibration.jsonl'), 'utf8'),
    );
  }, 180_000);
});

describe('a killed run', () => {
  test('while it writes files, and while it reads results, continues to the same bytes', async () => {
    const rows = 1500;
    const folder = await writeDataset(await temporaryFolder(), { 'web_test.jsonl': madeUpRows('web', rows) });
    const args = (out: string, batch: string) => [
      ...['infer', '--data-dir', folder, '--output-dir', out, '--model-name', 'wm', '--assume-params', '--quiet'],
      ...['--batch-dir', batch, '--seed', '7'],
    ];
    const whole = await temporaryFolder();
    const [wholeBatch, batch] = [join(whole, 'batch'), join(await temporaryFolder(), 'batch')];
    expect((await awb(args(whole, wholeBatch))).code).toBe(75);
    const out = await temporaryFolder();
    const random = randomFrom(12);
    const kills = async (isThere: () => Promise<boolean>) => {
      let midway = 0;
      for (let kill = 0; kill < 5; kill++) {
        const { child, ended } = startAwb(args(out, batch));
        const end = ended.then(() => true);
        while (!(await isThere()) && !(await Promise.race([end, wait(1).then(() => false)])));
        await Promise.race([wait(random() * 150), end]);
        child.kill('SIGKILL');
        if ((await ended).signal === 'SIGKILL') midway++;
      }
      return midway;
    };
    const isWriting = async () => (await readdir(batch).catch(() => [])).length > 0;
    expect(await kills(isWriting)).toBeGreaterThan(0);
    expect((await startAwb(args(out, batch)).ended).code).toBe(75);
    const files = async (dir: string) =>
      Promise.all(
        (await readdir(dir)).filter((name) => name.endsWith('.jsonl')).map((name) => readFile(join(dir, name), 'utf8')),
      );
    expect((await readdir(batch)).sort()).toEqual(['batch.json', 'requests-0001.jsonl']);
    expect(await files(batch)).toEqual(await files(wholeBatch));

    const results = resultLines(await answersTo(await requestsIn(batch), server.url), 'vllm');
    await writeResults(batch, 'outputs.jsonl', results);
    await writeResults(wholeBatch, 'outputs.jsonl', results);
    const journal = join(out, 'predictions.journal.jsonl');
    const isReading = async () => (await readFile(journal, 'utf8').catch(() => '')).length > 0;
    expect(await kills(isReading)).toBeGreaterThan(0);
    const end = await startAwb(args(out, batch)).ended;
    expect(end.code).toBe((await awb(args(whole, wholeBatch))).code);
    expect(await readFile(join(out, 'predictions.jsonl'), 'utf8')).toBe(
      await readFile(join(whole, 'predictions.jsonl'), 'utf8'),
    );
    const records = (await readFile(journal, 'utf8')).trim().split('\n');
    expect(records).toHaveLength(rows);
  }, 180_000);
});
