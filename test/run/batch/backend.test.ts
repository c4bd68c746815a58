// A result is matched by what its request says, so none is read as the answer to another request.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ModelOutcome, Solve } from '../../../src/core/types.js';
import { openBatch } from '../../../src/run/batch/backend.js';
import { requestsIn, resultLines, writeResults } from '../../support/batch-answers.js';
import { temporaryFolder } from '../../support/cli.js';
import { NEVER } from '../../support/endpoint.js';

const IDS = ['a#0', 'b#0', 'c#0'];
interface Named {
  readonly id: string;
  readonly group: string;
}
const JOBS: readonly Named[] = IDS.map((id) => ({ id, group: id }));

/** One session over the folder; `textOf` gives the text that a job sends. */
async function session(dir: string, textOf = (id: string) => `asked ${id}`) {
  const outcomes: Record<string, ModelOutcome> = {};
  const endpoints = { baseUrls: [], proxies: [], model: 'm', apiKey: '', prefix: 'model' } as const;
  const run = { kind: 'infer', dir: join(dir, 'run'), identity: {} } as const;
  const by = {
    dir,
    run,
    settings: { assumeParams: true },
    command: { cwd: dir, words: ['infer'] },
    endpoints,
  };
  const backend = await openBatch(by, {
    sampling: { maxTokens: 10, seed: 1 },
    stream: false,
    clocks: { firstTokenTimeoutMs: 60_000, gapTimeoutMs: 60_000, callTimeoutMs: 60_000 },
    fitMaxTokens: false,
    allowParamDrop: false,
    dropped: [],
    concurrency: 1,
    maxAttempts: 2,
    retryMs: 1000,
  });
  const solve: Solve<Named> = async ({ id }, ask) => {
    const outcome = await ask({
      async make() {
        return { messages: [{ role: 'user', content: textOf(id) }], seedOffset: 0 };
      },
    });
    if (outcome.status !== 'interrupted') outcomes[id] = outcome;
  };
  const kept = ({ id }: Named) => ({ id, batched: 0, isHeld: false });
  const files = { kept, replayed() {} };
  await backend.work(JOBS, solve, { stop: NEVER, abort: NEVER }, { files });
  const report = backend.report?.();
  await backend.close();
  return { outcomes, written: report?.written, awaited: report?.awaited };
}

const completion = (content: string) => ({
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
});

async function answered(dir: string, name: string, status = 200): Promise<void> {
  const requests = await requestsIn(dir);
  const answers = requests.map(({ custom_id: id, body }) => ({
    id,
    status,
    body: status === 200 ? completion(`to ${body.messages[0].content}`) : { error: { message: 'try again' } },
  }));
  await writeResults(dir, name, resultLines(answers, 'openai'));
}

describe("a job's first request", () => {
  it('is written once, and its result becomes its answer', async () => {
    const dir = await temporaryFolder();
    expect(await session(dir)).toMatchObject({ written: 3 });
    expect(await session(dir)).toMatchObject({ written: 0, awaited: 3 });
    await answered(dir, 'results.jsonl');
    const { outcomes } = await session(dir);
    for (const id of IDS) expect(outcomes[id]).toMatchObject({ status: 'ok', content: `to asked ${id}` });
  });

  it("is written again if the job's text changes, and the old result is not used", async () => {
    const dir = await temporaryFolder();
    await session(dir);
    await answered(dir, 'results.jsonl');
    const changed = await session(dir, (id) => (id === 'b#0' ? 'something else' : `asked ${id}`));
    expect(changed).toMatchObject({ written: 1, awaited: 1 });
    expect(Object.keys(changed.outcomes).sort()).toEqual(['a#0', 'c#0']);
  });

  it('is followed by a retry under the next seed if its result was a failure worth retrying', async () => {
    const dir = await temporaryFolder();
    await session(dir);
    await answered(dir, 'results.jsonl', 500);
    expect(await session(dir)).toMatchObject({ written: 3 });
    expect((await requestsIn(dir)).map(({ body }) => body.seed)).toEqual([1, 1, 1, 7920, 7920, 7920]);
    await answered(dir, 'results.jsonl', 500);
    const { outcomes, written } = await session(dir);
    expect(written).toBe(0);
    for (const id of IDS) expect(outcomes[id]).toMatchObject({ status: 'failed', class: 'transient' });
  });
});
