// The bundled world-model prompts: what each of them has to say, whichever environment it makes of a model.

import { describe, expect, test } from 'vitest';
import { loadPrompts } from '../../src/benchmark/prompts.js';
import { DOMAINS } from '../../src/core/types.js';
import { folderOf } from '../support/folder.js';

const prompts = await loadPrompts('world-model');

/** What a world that is acted in for many turns has to be told, each as words that stand in the text. */
const RULES = {
  'that an action may come without a task': /There need not be a task/,
  'where to start without a state': /- There need not be a task.*\. Without [^.]* to go on from, /,
  'that its own observations have happened': /What you returned in earlier turns has happened as you returned it/,
  'what becomes of an action that is malformed or cannot be done':
    /changes nothing|stays as it is|gets the tool's error|has no effect/,
  'how instructions for it are headed, and that they are never mentioned':
    /\*\*Simulation Instruction:\*\*[^\n]*for you alone[^\n]*Never quote it, hint at it or say that it was asked for/,
  "that the row's own description goes before it":
    /A description that follows this text [^\n]*where the two differ, it holds/,
  'never to say what it is': /Never say that you are a model or that this is a simulation/,
  'to think first, and to put nothing but the observation into the tag at the end':
    /Think as much as you need first\. Then give [^\n]* inside <predicted_observation><\/predicted_observation>[^\n]*$/,
} satisfies Record<string, RegExp>;

describe.each(DOMAINS)('the bundled prompt of %s', (domain) => {
  const text = prompts.prompt(domain) ?? '';

  test.each(Object.entries(RULES))('says %s', (_what, rule) => {
    expect(text).toMatch(rule);
  });

  test('has no more than 700 words, and names the tag once', () => {
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(700);
    expect(text.match(/<predicted_observation>/g)).toHaveLength(1);
  });
});

test('there is a bundled prompt for each of the seven, and for no other', () => {
  expect(prompts.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(prompts.domains).toEqual([...DOMAINS].sort());
  expect(prompts.prompt('unheard-of')).toBeUndefined();
});

test('a folder of prompts adds to the bundled ones and replaces them, white space at their ends left out', async () => {
  const folder = await folderOf({ 'kitchen.txt': '\nYou are a kitchen.\n\n', 'web.txt': 'Mine.' });
  const both = await loadPrompts('world-model', folder);
  expect(both.domains).toEqual([...DOMAINS, 'kitchen'].sort());
  expect([both.prompt('kitchen'), both.prompt('web'), both.prompt('os')]).toEqual([
    'You are a kitchen.',
    'Mine.',
    prompts.prompt('os'),
  ]);
  expect(both.fingerprint).not.toBe(prompts.fingerprint);
});
