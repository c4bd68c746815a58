// What each reading of verdicts makes of replies that were cut off.

import { expect, it } from 'vitest';
import { loadRubricPack } from '../../src/benchmark/rubric-pack.js';
import { present } from '../../src/core/errors.js';
import type { Sample } from '../../src/core/types.js';
import { rubric } from '../../src/judge/rubric.js';
import { block, five, scores } from '../support/verdicts.js';

const sample: Sample = {
  key: 'k',
  trajectory: 't',
  domain: 'terminal',
  turnIdx: 1,
  prompts: ['p'],
  responses: ['r'],
  currentPrompt: 'p',
  systemPrompt: 's',
};

it.each([
  ['strict', 'length', 'unreadable'],
  ['strict', 'stop', 'ok'],
  ['official', 'length', 'ok'],
] as const)('a verdict of the %s reading that ended by %s is %s', async (verdicts, finishReason, status) => {
  const method = await rubric.open({ verdicts, rubrics: () => loadRubricPack() });
  const [part] = method.parts({ sample, gen: 'r' });
  const mark = /final_evaluation(-\w+)/.exec(JSON.stringify(present(part).request(0)))?.[1] ?? '';
  const content = block(scores(five)).replaceAll('final_evaluation', `final_evaluation${mark}`);
  const log = { attempts: 1, usage: {}, ms: 1, host: 'h' };
  expect(present(part).read({ status: 'ok', content, finishReason, log }, 0)).toMatchObject({ status });
});
