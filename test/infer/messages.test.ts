// The messages to the world model, by protocol.
import { describe, expect, test } from 'vitest';
import { keysOf } from '../../src/core/groups.js';
import type { Sample } from '../../src/core/types.js';
import { buildMessages, PROTOCOLS } from '../../src/infer/messages.js';

const third: Sample = {
  key: 'k',
  trajectory: 't',
  domain: 'terminal',
  turnIdx: 3,
  prompts: ['p1', 'p2', 'p3 + request', 'p4 + request'],
  responses: ['r1', 'r2', 'truth', 'later truth'],
  currentPrompt: 'p3',
  systemPrompt: 'of the row',
};
const first: Sample = { ...third, turnIdx: 1, prompts: ['p1 + request'], responses: ['truth'], currentPrompt: 'p1' };
const bare = (sample: Sample): Sample => ({ ...sample, currentPrompt: '' });

const cases: [string, Sample, keyof typeof PROTOCOLS, string, string[]][] = [
  [
    'all earlier turns, then the turn with its request',
    third,
    'history',
    'S',
    ['system S', ...past(), 'user p3 + request'],
  ],
  ['the row’s current prompt makes no difference', bare(third), 'history', '', [...past(), 'user p3 + request']],
  ['no request behind the last turn', third, 'history-bare', 'S', ['system S', ...past(), 'user p3']],
  [
    'the whole turn where the row has no current prompt',
    bare(third),
    'history-bare',
    '',
    [...past(), 'user p3 + request'],
  ],
  ['no history', third, 'blind', 'S', ['system S', 'user p3']],
  ['no history and no current prompt', bare(third), 'blind', '', ['user p3 + request']],
  ['a first turn', first, 'history', '', ['user p1 + request']],
  ['a first turn', first, 'history-bare', 'S', ['system S', 'user p1']],
  ['a first turn', first, 'blind', '', ['user p1']],
  ['a blank system prompt is not an empty one', first, 'blind', ' ', ['system  ', 'user p1']],
];

function past(): string[] {
  return ['user p1', 'assistant r1', 'user p2', 'assistant r2'];
}

describe('buildMessages', () => {
  test.each(cases)('%s (%#)', (_name, sample, protocol, system, expected) => {
    const messages = buildMessages(sample, protocol, system);
    expect(messages.map(({ role, content }) => `${role} ${content}`)).toEqual(expected);
  });

  test.each(keysOf(PROTOCOLS))('%s sends neither the truth nor anything later', (protocol) => {
    const sent = JSON.stringify(buildMessages(third, protocol, third.systemPrompt));
    expect(sent).not.toMatch(/truth|p4/);
  });
});
