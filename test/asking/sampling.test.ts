// What is sent with a request, and what of it a run's identity holds.

import { describe, expect, test } from 'vitest';
import type { AskingSettings } from '../../src/asking/options.js';
import { samplingIdentity, samplingOf } from '../../src/asking/sampling.js';
import { checkedManifest } from '../../src/run/manifest.js';

function settings(given: Partial<AskingSettings> = {}): AskingSettings {
  return { maxTokens: 100, temperature: 0.6, allowParamDrop: false, fitMaxTokens: false, ...given } as AskingSettings;
}

/** The manifest of an earlier session that was asked with this sampling. */
function stored(sampling: Record<string, unknown>) {
  return checkedManifest({ schema: 'awb.manifest/1', identity: { sampling } }, 'm.json');
}

describe('what is sent', () => {
  test.each<[string, Partial<AskingSettings>, object]>([
    ['what is set, and nothing else', {}, { maxTokens: 100, temperature: 0.6 }],
    ['no temperature where the server is to choose', { temperature: 'default' }, { maxTokens: 100 }],
    ['a preset', { preset: 'model-card' }, { maxTokens: 100, temperature: 0.6, topP: 0.95, topK: 20 }],
    ['a flag before a preset', { preset: 'model-card', topP: 1, topK: -1 }, { topP: 1, topK: -1 }],
  ])('is %s', (_, given, sent) => {
    expect(samplingOf(settings(given))).toMatchObject(sent);
    expect(Object.values(samplingOf(settings(given)))).not.toContain(undefined);
  });
});

describe("a run's identity", () => {
  test('takes dropped parameters over as long as dropping is allowed', () => {
    const before = stored({ dropped: ['seed'] });
    expect(samplingIdentity(settings({ allowParamDrop: true }), before)).toMatchObject({ dropped: ['seed'] });
    expect(samplingIdentity(settings(), before)).not.toHaveProperty('dropped');
  });

  test('names the fitting of budgets, but not of a run that was begun without it', () => {
    const fitting = settings({ fitMaxTokens: true });
    expect(samplingIdentity(fitting, undefined)).toHaveProperty('fitMaxTokens', true);
    expect(samplingIdentity(fitting, stored({ fitMaxTokens: true }))).toHaveProperty('fitMaxTokens', true);
    expect(samplingIdentity(fitting, stored({ maxTokens: 100 }))).not.toHaveProperty('fitMaxTokens');
  });
});
