import { expect, test } from 'vitest';
import { prefaceOf, readTurnPrompt, turnPrompt } from '../../src/infer/world.js';

test('what a prompt is made of is found in it again', () => {
  const preface = prefaceOf({ task: 'Buy **two** tents.', state: 'page\n**Action:**\nis a heading there' });
  const prompt = turnPrompt({ turn: 12, preface, action: '{\n  "name": "x"\n}', language: 'json' });
  expect(prompt.startsWith('### Turn 12\n**Task Instruction:**\nBuy **two** tents.\n\n**Current State:**\npage')).toBe(
    true,
  );
  expect(readTurnPrompt(prompt)).toEqual({
    preface,
    action: '{\n  "name": "x"\n}',
    state: { heading: 'Current State', text: 'page\n**Action:**\nis a heading there' },
  });
});

test('a Phone State is a state under its own heading', () => {
  const { state } = readTurnPrompt('### Turn 2\n**Current Phone State:**\nhome\n\n**Action:**\n```json\n{}\n```');
  expect(state).toEqual({ heading: 'Current Phone State', text: 'home' });
});

test('an action without a fence, or with a longer one, is the action all the same', () => {
  expect(readTurnPrompt('### Turn 2\n**Action:**\nclick(1)')).toEqual({ preface: '', action: 'click(1)' });
  const fenced = turnPrompt({ turn: 1, action: 'a\n```\nb\n````\nc', language: 'text' });
  expect(readTurnPrompt(fenced).action).toBe('a\n```\nb\n````\nc');
  expect(readTurnPrompt('click(1)').action).toBe('click(1)');
});
