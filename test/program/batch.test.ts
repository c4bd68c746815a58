// Runs by batch files end as live runs do: the same replies make the same bytes, however their results come.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answersTo, requestsIn, resultLines, writeResults } from '../support/batch-answers.js';
import { awb, temporaryFolder } from '../support/cli.js';
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

/** The same answer for the same request; what it is depends on the messages, and for the first try on the seed, too. */
function answerOf({ messages, seed }: { messages: unknown; seed: number }): Answer {
  const hash = createHash('sha256').update(JSON.stringify(messages)).digest('hex');
  const kind = Number.parseInt(hash.slice(0, 2), 16) % 8;
  const isFirst = seed === 5;
  if (JSON.stringify(messages).includes('"factuality')) {
    const scores = SCORES.map((name, at) => [name, 1 + (Number.parseInt(hash[at] ?? '0', 16) % 5)]);
    const verdict = JSON.stringify({ scores: Object.fromEntries(scores), strengths: ['s'], weaknesses: ['w'] });
    return { content: kind < 2 && isFirst ? 'I would rather not say.' : `\`\`\`json\n${verdict}\n\`\`\`` };
  }
  const content = `<predicted_observation>\nsaw ${hash.slice(0, 8)}\n</predicted_observation>`;
  if (kind === 0) return { status: 400, body: OVERFLOW };
  if (kind === 1) return { content: '', finishReason: 'content_filter' };
  if (kind === 2 && isFirst) return { status: 500, body: { error: { message: 'try again', type: 'server_error' } } };
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
  server = await startLoopbackServer(({ body }) => answerOf(body), { record: false });
  data = await writeDataset(await temporaryFolder(), {
    'mcp_test.jsonl': madeUpRows('mcp', ROWS / 2),
    'terminal_test.jsonl': madeUpRows('terminal', ROWS / 2),
  });
  live = await temporaryFolder();
  expect((await awb(inferArgs(live))).code).toBe(3);
  expect((await awb(judgeArgs(join(live, 'predictions.jsonl'), live))).code).toBe(3);
}, 60_000);

afterAll(() => server.close());

/** Repeats the command until nothing is awaited; each time `answer` puts results of the latest requests into the folder. */
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

describe('a run by batch files writes the bytes of a live run', () => {
  test.each(Object.entries(WAYS))(
    'with %s',
    async (_, answer) => {
      const out = await temporaryFolder();
      const [predictions, batch, judging] = [join(out, 'predictions.jsonl'), join(out, 'batch'), join(out, 'judging')];
      const inferred = await untilDone(inferArgs(out), batch, (requests, round) =>
        answer(batch, requests as never[], round),
      );
      expect(inferred).toMatchObject({ code: 3 });
      expect(inferred.rounds).toBeGreaterThan(2);
      expect(await readFile(predictions, 'utf8')).toBe(await readFile(join(live, 'predictions.jsonl'), 'utf8'));
      const judged = await untilDone(judgeArgs(predictions, out), judging, (requests, round) =>
        answer(judging, requests as never[], round),
      );
      expect(judged).toMatchObject({ code: 3 });
      expect(await readFile(join(out, 'judged.jsonl'), 'utf8')).toBe(
        await readFile(join(live, 'judged.jsonl'), 'utf8'),
      );
    },
    60_000,
  );
});
