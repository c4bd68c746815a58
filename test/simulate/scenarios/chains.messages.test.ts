import { describe, expect, test } from 'vitest';
import { buildMessages } from '../../../src/infer/messages.js';
import { nextStep, putScenario, startMessages } from '../../../src/simulate/scenarios/chains.js';
import { scenarioOf } from '../../support/scenarios.js';
import { RECORDED } from '../../support/subjects.js';

describe('the next step', () => {
  test('asks as a later row of the trajectory would if the prediction were the truth', () => {
    let compared = 0;
    for (const [index, sample] of RECORDED.entries()) {
      const later = RECORDED[index + 1];
      if (later?.trajectory !== sample.trajectory) continue;
      const first = buildMessages(sample, 'history', sample.systemPrompt);
      const truth = (sample.responses[sample.turnIdx - 1] ?? '').replace(/^\*\*Environment Observation:\*\*\n/, '');
      const next = nextStep(first, { domain: sample.domain, prediction: truth, action: 'wait()' });
      const theirs = buildMessages(later, 'history', later.systemPrompt);
      const turn = `### Turn ${sample.turnIdx + 1}`;
      expect(next.slice(0, -1)).toEqual(theirs.slice(0, next.length - 1));
      expect(next.at(-1)?.content.startsWith(`${turn}\n**Action:**\n`)).toBe(true);
      const [tail, theirTail] = [next, theirs].map((messages) => messages.at(-1)?.content.split('\n```\n\n').at(-1));
      expect(tail?.slice(-400)).toBe(theirTail?.slice(-400));
      compared++;
    }
    expect(compared).toBeGreaterThan(40);
  });

  test("repeats the screen's state with the prediction, if later turns repeat it", () => {
    const prompt = (turn: number) =>
      `### Turn ${turn}\n**Current State:**\nold\n\n**Action:**\n\`\`\`text\nclick('1')\n\`\`\``;
    const tail = '\n\nPlease analyze the input above and predict.';
    const asked = (turn: number) =>
      nextStep([{ role: 'user', content: prompt(turn) + tail }], {
        domain: 'web',
        prediction: 'new',
        action: "click('2')",
      });
    expect(asked(3)).toEqual([
      { role: 'user', content: prompt(3) },
      { role: 'assistant', content: '**Environment Observation:**\nnew' },
      {
        role: 'user',
        content: `### Turn 4\n**Current State:**\nnew\n\n**Action:**\n\`\`\`text\nclick('2')\n\`\`\`${tail}`,
      },
    ]);
    expect(asked(1).at(-1)?.content).toBe(`### Turn 2\n**Action:**\n\`\`\`text\nclick('2')\n\`\`\`${tail}`);
  });
});

test('a start of its own asks for the first action, after task and state', () => {
  const start = { domain: 'mcp', systemPrompt: 'You are tools.', task: 'Ask.', state: 'idle' };
  const [system, user] = startMessages(start, '{"name": "ask", "arguments": {}}');
  expect(system).toEqual({ role: 'system', content: 'You are tools.' });
  expect(user?.content).toMatch(
    /^### Turn 1\n\*\*Task Instruction:\*\*\nAsk\.\n\n\*\*Current State:\*\*\nidle\n\n\*\*Action:\*\*\n```json\n\{\n {2}"name": "ask"/,
  );
  expect(user?.content).toMatch(/\n\nPlease analyze the input above.*<predicted_observation>/s);
});

const BEFORE = scenarioOf({ framing: '**Told:**\n{instruction}\n', instruction: 'It is {full}.' });
const SYSTEM = scenarioOf({ put: 'system', framing: '# Told\n{instruction}', instruction: 'It is full.' });

describe('an instruction', () => {
  test('goes before the action, and nothing else changes', () => {
    for (const sample of RECORDED) {
      const messages = buildMessages(sample, 'history', sample.systemPrompt);
      const put = putScenario(BEFORE, messages);
      expect(put.slice(0, -1)).toEqual(messages.slice(0, -1));
      const [before, behind] = (put.at(-1)?.content ?? '').split('**Told:**\nIt is {full}.\n\n');
      expect(`${before}${behind}`).toBe(messages.at(-1)?.content);
      expect(behind).toMatch(/^\*\*Action:\*\*\n```/);
    }
  });

  test('goes after the system prompt, and nothing else changes', () => {
    for (const sample of RECORDED) {
      const messages = buildMessages(sample, 'history', sample.systemPrompt);
      const [system, ...others] = putScenario(SYSTEM, messages);
      expect(others).toEqual(messages.slice(1));
      expect(system?.content).toBe(`${sample.systemPrompt.trimEnd()}\n\n# Told\nIt is full.`);
    }
  });

  test('becomes the system prompt if there is none', () => {
    expect(putScenario(SYSTEM, [{ role: 'user', content: 'p' }])).toEqual([
      { role: 'system', content: '# Told\nIt is full.' },
      { role: 'user', content: 'p' },
    ]);
  });

  test('goes before the real action if a state shows another', () => {
    const content = '### Turn 3\n**Current State:**\n**Action:**\nnone\n\n**Action:**\n```\nclick(1)\n```';
    const [message] = putScenario(BEFORE, [{ role: 'user', content }]);
    expect(message?.content).toBe(content.replace('**Action:**\n```', '**Told:**\nIt is {full}.\n\n**Action:**\n```'));
  });

  test("goes below the turn's line if a prompt has no heading for its action", () => {
    const [message] = putScenario(BEFORE, [{ role: 'user', content: '### Turn 2\nclick(1)' }]);
    expect(message?.content).toBe('### Turn 2\n**Told:**\nIt is {full}.\n\nclick(1)');
  });
});
