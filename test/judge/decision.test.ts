// What an agent is asked in decision mode, and what its answers give.

import { describe, expect, it } from 'vitest';
import { present } from '../../src/core/errors.js';
import type { ModelReply, Sample } from '../../src/core/types.js';
import { decision } from '../../src/judge/decision.js';
import type { Subject } from '../../src/judge/mode.js';
import { SAMPLE } from '../support/sample.js';

const open = () => decision.open({ verdicts: 'strict', rubrics: () => Promise.reject() });
const click = (bid: number) => `\`\`\`text\nclick('${bid}')\n\`\`\``;
const TAIL = '\n\nPlease analyze the input above and predict the observation';
const state = (text: string) => `**Current State:**\n${text}\n\n`;

/** The third turn of a browser trajectory, which repeats the state in each prompt as real rows do, followed by a later turn. */
const sample: Sample = {
  ...SAMPLE,
  turnIdx: 3,
  systemPrompt: 'You are a browser. The answer that the agent has to find is 42.',
  prompts: [
    `### Turn 1\n**Task Instruction:**\nBuy it.\n\n${state('page zero')}**Action:**\n${click(1)}`,
    `### Turn 2\n${state('page one, repeated')}**Action:**\n${click(2)}`,
    `### Turn 3\n${state('page two, repeated')}**Action:**\n${click(3)}${TAIL}`,
    `### Turn 4\n**Action:**\n${click(4)}`,
  ],
  responses: ['page one', 'page two', 'page three', 'page four'].map((text) => `**Environment Observation:**\n${text}`),
  currentPrompt: `### Turn 3\n${state('page two, repeated')}**Action:**\n${click(3)}`,
};
const subject: Subject = {
  sample,
  gen: '<think>hm</think><predicted_observation>**Environment Observation:**\npage guessed</predicted_observation>',
  beside: { text: '**Environment Observation:**\nanother page' },
};

async function questions(of: Subject) {
  return (await open()).parts(of).map((part) => {
    const request = part.request(0);
    if (!('messages' in request)) throw new Error('an agent is asked by messages');
    return request.messages;
  });
}

describe('an agent', () => {
  it("is asked twice after the truth, once after the prediction and once after another row's truth, with all else equal", async () => {
    const asked = await questions(subject);
    expect(asked.map((messages) => messages.at(-1))).toEqual(
      ['page three', 'page three', 'page guessed', 'another page'].map((content) => ({ role: 'user', content })),
    );
    for (const messages of asked) expect(messages.slice(0, -1)).toEqual(asked[0]?.slice(0, -1));
  });

  it('sees the task, the first state, its own actions and their results, and nothing later', async () => {
    const [messages = []] = await questions(subject);
    expect(messages.slice(1)).toEqual([
      { role: 'user', content: '**Task Instruction:**\nBuy it.\n\n**Current State:**\npage zero' },
      { role: 'assistant', content: click(1) },
      { role: 'user', content: 'page one' },
      { role: 'assistant', content: click(2) },
      { role: 'user', content: 'page two' },
      { role: 'assistant', content: click(3) },
      { role: 'user', content: 'page three' },
    ]);
  });

  it("does not see the environment's instructions, nor the truth when it has to act on the prediction", async () => {
    const [, , predicted] = await questions(subject);
    const text = JSON.stringify(predicted);
    for (const secret of ['42', 'page three', 'page four', 'analyze', 'repeated', click(4)])
      expect(text).not.toContain(secret);
  });

  it('sees the tools that the environment was given', async () => {
    const tool = '{"name": "view", "parameters": {"type": "object"}}';
    const of = { ...subject, sample: { ...sample, domain: 'swe', systemPrompt: `Answer 42.\n${tool}` } };
    const [[system] = []] = await questions(of);
    expect(system?.content).toContain(`The tools:\n\n${tool}`);
    expect(system?.content).not.toContain('42');
  });

  it("is not asked about another row's truth if the file has none", async () => {
    const beside = { text: '', failure: { class: 'absent', reason: 'r' } };
    expect(await questions({ ...subject, beside })).toHaveLength(3);
  });
});

describe('the record', () => {
  const reply = (content: string): ModelReply => ({
    status: 'ok',
    content,
    log: { attempts: 1, usage: {}, ms: 1, host: 'h' },
  });

  /** The measures of up to four replies. A reply without an action stands for one that had none after all tries. */
  async function measures(...replies: readonly string[]) {
    const method = await open();
    const parts = method.parts(subject);
    const answers = replies.map((content, at) => {
      const part = present(parts[at]);
      const read = part.read(reply(content), 0);
      const reading = read.status === 'ok' ? read : part.unread;
      if (reading === undefined) throw new Error(read.status === 'ok' ? '' : read.reason);
      return { reading, reply: reply(content) };
    });
    // There is one answer per part.
    return method.join(answers as never, subject).measures;
  }

  it.each([
    ['that all agree', [1, 1, 1, 1], [100, 100, 100]],
    ['that agree except after the other row', [1, 1, 1, 2], [100, 100, 0]],
    ['that differ after the prediction', [1, 1, 2, 3], [0, 100, 0]],
    ['equal to one of two after the truth', [1, 2, 2, 3], [50, 0, 0]],
    ['that agree except after the truth', [1, 2, 3, 3], [0, 0, 0]],
  ])('of actions %s', async (_, bids, [agreement, ceiling, floor]) => {
    expect(await measures(...bids.map(click))).toEqual({ agreement, agent_ceiling: ceiling, agent_floor: floor });
  });

  it('with no action after the prediction, but two after the truth, counts as disagreement', async () => {
    expect(await measures(click(1), click(1), 'I am lost.', 'So am I.')).toEqual({
      agreement: 0,
      agent_ceiling: 100,
      agent_floor: 0,
    });
  });

  it('with no action after the truth has no value, since that says nothing about the prediction', async () => {
    await expect(measures(click(1), 'I am lost.')).rejects.toThrow(
      'after the true observation no fence, and the action is not a call',
    );
  });

  it('omits the floor if there was no other truth', async () => {
    expect(await measures(click(1), click(1), click(1))).toEqual({ agreement: 100, agent_ceiling: 100 });
  });

  it.each(['empty', 'refused'] as const)('of a prediction that is %s has agreement 0', async (failure) => {
    const { fail } = await open();
    expect(fail({ class: failure, reason: 'r' }, subject).measures).toEqual({ agreement: 0 });
  });

  it('of a prediction lost in transport has no value', async () => {
    const { fail } = await open();
    expect(fail({ class: 'prediction', reason: 'r' }, subject)).not.toHaveProperty('measures');
  });
});

it('a domain without an agent prompt is refused, and the prompts are part of the identity', async () => {
  const { refusal, identity } = await open();
  expect(refusal?.('web')).toBeUndefined();
  expect(refusal?.('robot')).toContain('describe how to act there in DIR/agent/robot.txt');
  expect(identity).toEqual({ prompts: expect.stringMatching(/^[0-9a-f]{12}$/), frame: expect.any(Number) });
});
