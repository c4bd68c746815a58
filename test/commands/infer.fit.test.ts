// Rows that are too long for the served context: listed before the first call, but still asked.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { verdict } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRow, madeUpRows, writeDataset } from '../support/run-folder.js';

let server: LoopbackServer | undefined;
afterEach(() => server?.close());

/** Three rows that fit, and two that are far too long for the server. */
async function setUp(served: object) {
  const asked: number[] = [];
  server = await startLoopbackServer(
    ({ body }) => {
      asked.push(JSON.stringify(body.messages).length);
      return { content: body.model === 'wm' ? 'fine' : verdict(4) };
    },
    { models: [{ id: 'wm', ...served }] },
  );
  const dir = await temporaryFolder();
  const long = (id: number, chars: number) => {
    const row = madeUpRow('mcp', id);
    return { ...row, system_str: 'x'.repeat(chars) };
  };
  const data = await writeDataset(join(dir, 'data'), {
    'mcp_test.jsonl': [...madeUpRows('mcp', 3), long(8, 200_000), long(9, 400_000)],
  });
  const out = join(dir, 'out');
  const infer = ['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm'];
  const judge = ['judge', '--predictions', join(out, 'predictions.jsonl'), '--judge-base-url', server.url];
  return {
    asked,
    infer: (...flags: string[]) => awb([...infer, '--output-dir', out, ...flags]),
    judge: (...flags: string[]) => awb([...judge, '--judge-model', 'judge', '--output-dir', out, ...flags]),
  };
}

const VLLM = { owned_by: 'vllm', max_model_len: 40_960 };

test('rows that will not fit are listed with their position before the first call, and are still asked', async () => {
  const { infer, asked } = await setUp(VLLM);
  const { code, stdout, stderr } = await infer();
  expect(code).toBe(EXIT.done);
  expect(asked).toHaveLength(5);
  const summary =
    /2 rows \(mcp 2\) will probably not fit into the context of 40,960 tokens at [^ ]+ with --max-tokens 32768/;
  expect(stderr).toMatch(summary);
  expect(stdout).toMatch(summary);
  const lines = stderr.split('\n');
  const at = lines.findIndex((line) => summary.test(line));
  expect(lines[at + 1]).toMatch(/^ {2}mcp_test\.jsonl:5 \(mcp\): about 100,0\d\d tokens$/);
  expect(lines[at + 2]).toMatch(/^ {2}mcp_test\.jsonl:4 \(mcp\): about 50,0\d\d tokens$/);
});

test('the document does not contain the list, but contains the notice', async () => {
  const { infer } = await setUp(VLLM);
  const { stdout } = await infer('--json', '--repeats', '2');
  const { notices } = JSON.parse(stdout);
  expect(notices).toEqual([expect.stringMatching(/^2 rows \(mcp 2\)[^\n]*serve a longer context$/)]);
});

test('nothing is reported if every row fits, or if the server does not report its context', async () => {
  for (const served of [{ owned_by: 'vllm', max_model_len: 262_144 }, { owned_by: 'somebody' }]) {
    const { infer } = await setUp(served);
    const { stdout, stderr } = await infer();
    expect(stdout + stderr).not.toContain('hardly fit');
    await server?.close();
  }
});

test("the judge's context is checked as well", async () => {
  const { infer, judge, asked } = await setUp(VLLM);
  await infer('--quiet');
  asked.length = 0;
  const { code, stderr } = await judge('--max-tokens', '40000');
  expect(code).toBe(EXIT.done);
  expect(asked).toHaveLength(5);
  // The rubric, with the world model's instructions, is what does not fit into the remaining context.
  expect(stderr).toMatch(/5 rows \(mcp 5\) will probably not fit .* with --max-tokens 40000/);
  expect(stderr).toMatch(/ {2}predictions\.jsonl:\d \(mcp\): about [34],\d{3} tokens/);
});
