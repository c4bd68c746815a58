import { expect, test } from 'vitest';
import { loadWorldModelPrompts } from '../../src/bench/world-model-prompts.js';
import { DOMAINS } from '../../src/types.js';

test('there is a world-model prompt for each domain that asks for the tag', async () => {
  const prompts = await loadWorldModelPrompts();
  expect(prompts.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  for (const domain of DOMAINS) {
    expect(prompts.prompt(domain)).toContain('<predicted_observation></predicted_observation>');
  }
  expect(prompts.prompt('unheard-of')).toBeUndefined();
});
