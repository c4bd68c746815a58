// The chat template, rendered as the server renders it.

import { Template } from '@huggingface/jinja';
import { describe, expect, test } from 'vitest';
import { CHAT_TEMPLATE } from '../support/tiny-model/chat-template.js';

function render(messages: readonly unknown[], more: object = {}): string {
  return new Template(CHAT_TEMPLATE).render({ messages, add_generation_prompt: true, ...more });
}

describe('the chat template', () => {
  const turns = [
    { role: 'system', content: ' You are a terminal.\n' },
    { role: 'user', content: '\n### Turn 1\n' },
    { role: 'assistant', content: '<think>\nA thought.\n</think>\n\nThe screen.' },
    { role: 'user', content: '### Turn 2' },
  ];
  const head = '<|im_start|>system\nYou are a terminal.<|im_end|>\n<|im_start|>user\n### Turn 1<|im_end|>\n';
  const earlier = '<|im_start|>assistant\nThe screen.<|im_end|>\n<|im_start|>user\n### Turn 2<|im_end|>\n';
  const cases: [string, readonly object[], object, string][] = [
    ['drops the thinking of earlier turns', turns, {}, `${head}${earlier}<|im_start|>assistant\n<think>\n`],
    [
      'ends the thinking at once where it is off',
      turns.slice(0, 2),
      { enable_thinking: false },
      `${head}<|im_start|>assistant\n<think>\n\n</think>\n\n`,
    ],
    [
      'keeps the thinking after the last question',
      turns.slice(0, 3),
      { add_generation_prompt: false },
      `${head}<|im_start|>assistant\n<think>\nA thought.\n</think>\n\nThe screen.<|im_end|>\n`,
    ],
    [
      'takes thinking from its own field',
      [...turns.slice(0, 2), { role: 'assistant', content: 'So.', reasoning_content: 'Hm.' }],
      { add_generation_prompt: false },
      `${head}<|im_start|>assistant\n<think>\nHm.\n</think>\n\nSo.<|im_end|>\n`,
    ],
  ];

  test.each(cases)('%s', (_, messages, more, expected) => {
    expect(render(messages, more)).toBe(expected);
  });

  test.each([
    ['no user message', [{ role: 'system', content: 'x' }], 'needs a user message'],
    ['a system message in the middle', [turns[1], turns[0]], 'comes first'],
    ['a role that it does not know', [turns[1], { role: 'function', content: 'x' }], 'unknown role function'],
  ])('refuses %s', (_, messages, reason) => {
    expect(() => render(messages)).toThrow(reason);
  });
});
