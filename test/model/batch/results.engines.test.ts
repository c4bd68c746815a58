// What vLLM's run-batch wrote, word for word (recorded with vLLM 0.32.0), and what is made of it.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readResult } from '../../../src/model/batch/folder.js';
import { classified } from '../../support/failures.js';

const lines = new Map(
  readFileSync('fixtures/endpoints/vllm-run-batch.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map((line) => [line.custom_id, line]),
);

function failureOf(id: string) {
  const result = readResult(lines.get(id));
  if (typeof result !== 'object') throw new Error(`expected an answer, got ${JSON.stringify(result)}`);
  return classified({ ...(result.status !== undefined && { status: result.status }), body: result.body });
}

describe('a line of vllm run-batch', () => {
  test('is read as the completion in it', () => {
    const result = readResult(lines.get('ordinary'));
    if (typeof result !== 'object') throw new Error('expected an answer');
    expect(result.status).toBe(200);
    expect(JSON.parse(result.body)).toMatchObject({
      model: 'tiny',
      choices: [{ message: { reasoning: 'hm' }, finish_reason: 'stop' }],
    });
  });

  test('reports a prompt that is too long, though its answer has no body', () => {
    expect(failureOf('over-long')).toMatchObject({ class: 'context-overflow', overflow: { contextTokens: 32_768 } });
  });

  test('reports a budget that is larger than the context as an overflow', () => {
    expect(failureOf('budget')).toMatchObject({ class: 'context-overflow', overflow: { contextTokens: 32_768 } });
  });

  test('reports that there is no such model', () => {
    expect(failureOf('unknown-model')).toMatchObject({ class: 'fatal', unknownModel: true });
  });

  test('says in words why it was not answered', () => {
    expect(failureOf('streamed').reason).toContain('Request must not be sent in stream mode');
  });
});
