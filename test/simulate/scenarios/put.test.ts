import { describe, expect, test } from 'vitest';
import { buildMessages } from '../../../src/infer/messages.js';
import { putScenario } from '../../../src/simulate/scenarios/steps.js';
import { scenarioOf } from '../../support/scenarios.js';
import { RECORDED } from '../../support/subjects.js';

const BEFORE = scenarioOf({ framing: '**Told:**\n{instruction}\n', instruction: 'It is {full}.' });
const SYSTEM = scenarioOf({ put: 'system', framing: '# Told\n{instruction}', instruction: 'It is full.' });

describe('an instruction', () => {
  test('stands in front of the action, and nothing else changes', () => {
    for (const sample of RECORDED) {
      const messages = buildMessages(sample, 'history', sample.systemPrompt);
      const put = putScenario(BEFORE, messages);
      expect(put.slice(0, -1)).toEqual(messages.slice(0, -1));
      const [before, behind] = (put.at(-1)?.content ?? '').split('**Told:**\nIt is {full}.\n\n');
      expect(`${before}${behind}`).toBe(messages.at(-1)?.content);
      expect(behind).toMatch(/^\*\*Action:\*\*\n```/);
    }
  });

  test('stands behind the system prompt, and nothing else changes', () => {
    for (const sample of RECORDED) {
      const messages = buildMessages(sample, 'history', sample.systemPrompt);
      const [system, ...others] = putScenario(SYSTEM, messages);
      expect(others).toEqual(messages.slice(1));
      expect(system?.content).toBe(`${sample.systemPrompt.trimEnd()}\n\n# Told\nIt is full.`);
    }
  });

  test('is a system prompt of its own where there is none', () => {
    expect(putScenario(SYSTEM, [{ role: 'user', content: 'p' }])).toEqual([
      { role: 'system', content: '# Told\nIt is full.' },
      { role: 'user', content: 'p' },
    ]);
  });

  test('stands in front of the real action where a state shows another', () => {
    const content = '### Turn 3\n**Current State:**\n**Action:**\nnone\n\n**Action:**\n```\nclick(1)\n```';
    const [message] = putScenario(BEFORE, [{ role: 'user', content }]);
    expect(message?.content).toBe(content.replace('**Action:**\n```', '**Told:**\nIt is {full}.\n\n**Action:**\n```'));
  });

  test('stands under the turn where a prompt has no heading for its action', () => {
    const [message] = putScenario(BEFORE, [{ role: 'user', content: '### Turn 2\nclick(1)' }]);
    expect(message?.content).toBe('### Turn 2\n**Told:**\nIt is {full}.\n\nclick(1)');
  });
});
