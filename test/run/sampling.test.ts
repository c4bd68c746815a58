// What is sent with a request, and which of it is part of a run's identity.

import { describe, expect, test } from 'vitest';
import { checkedManifest } from '../../src/run/manifest.js';
import { ASKING_OPTIONS, type AskingSettings, samplingIdentity, samplingOf } from '../../src/run/options.js';
import type { OptionSpec } from '../../src/settings/command.js';

function settings(given: Partial<AskingSettings> = {}): AskingSettings {
  return { maxTokens: 100, temperature: 0.6, allowParamDrop: false, fitMaxTokens: false, ...given } as AskingSettings;
}

/** The manifest of an earlier session that used this sampling. */
function stored(sampling: Record<string, unknown>) {
  return checkedManifest({ schema: 'awb.manifest/1', identity: { sampling } }, 'm.json');
}

describe('what is sent', () => {
  test.each<[string, Partial<AskingSettings>, object]>([
    ['what is set, and nothing else', {}, { maxTokens: 100, temperature: 0.6 }],
    ['no temperature if the server is to choose', { temperature: 'default' }, { maxTokens: 100 }],
    ['a preset', { preset: 'model-card' }, { maxTokens: 100, temperature: 0.6, topP: 0.95, topK: 20 }],
    ['a flag, which overrides a preset', { preset: 'model-card', topP: 1, topK: -1 }, { topP: 1, topK: -1 }],
  ])('is %s', (_, given, sent) => {
    expect(samplingOf(settings(given))).toMatchObject(sent);
    expect(Object.values(samplingOf(settings(given)))).not.toContain(undefined);
  });
});

describe("a run's identity", () => {
  /** A value for each kind of sampling option, other than the default. */
  const OTHER = { integer: 7, number: 0.7, text: 'high', json: { top_k: 1 }, choice: 'model-card', boolean: true };
  // For --allow-param-drop, only what was dropped matters.
  const aboutSampling = Object.entries<OptionSpec>(ASKING_OPTIONS).flatMap(([flag, option]) =>
    option.group === 'Sampling' && flag !== 'allow-param-drop' ? [[flag, option.kind] as const] : [],
  );

  test.each(aboutSampling)('includes --%s', (flag, kind) => {
    // OTHER has a value for every kind of sampling option.
    const value = OTHER[kind as keyof typeof OTHER];
    const name = flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const before = samplingIdentity(settings(), undefined);
    expect(samplingIdentity(settings({ [name]: value }), undefined)).not.toEqual(before);
  });

  test('keeps dropped parameters while dropping is allowed', () => {
    const before = stored({ dropped: ['seed'] });
    expect(samplingIdentity(settings({ allowParamDrop: true }), before)).toMatchObject({ dropped: ['seed'] });
    expect(samplingIdentity(settings(), before)).not.toHaveProperty('dropped');
  });

  test('includes the fitting of budgets, unless the run was started without it', () => {
    const fitting = settings({ fitMaxTokens: true });
    expect(samplingIdentity(fitting, undefined)).toHaveProperty('fitMaxTokens', true);
    expect(samplingIdentity(fitting, stored({ fitMaxTokens: true }))).toHaveProperty('fitMaxTokens', true);
    expect(samplingIdentity(fitting, stored({ maxTokens: 100 }))).not.toHaveProperty('fitMaxTokens');
  });
});
