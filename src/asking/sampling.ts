// What is sent with every request, and how it stands in a run's identity.

import type { Identity } from '../run/identity.js';
import { madeWith } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import type { Sampling } from '../types.js';
import type { AskingSettings } from './options.js';

/** The values to send, from flags and preset; what is absent is not sent. */
export function samplingOf(settings: AskingSettings): Sampling {
  const preset = settings.preset === 'model-card' ? { topP: 0.95, topK: 20 } : {};
  return withoutUndefined({
    maxTokens: settings.maxTokens,
    temperature: settings.temperature === 'default' ? undefined : settings.temperature,
    topP: settings.topP ?? preset.topP,
    topK: settings.topK ?? preset.topK,
    minP: settings.minP,
    presencePenalty: settings.presencePenalty,
    reasoningEffort: settings.reasoningEffort,
    seed: settings.seed,
    extraBody: settings.extraBody,
  });
}

/**
 * What the numbers depend on of all that. Parameters dropped by an earlier session of the run are taken over where dropping is
 * still allowed; where it no longer is, the identity differs and says so.
 */
export function samplingIdentity(settings: AskingSettings, stored: Manifest | undefined): Identity {
  const dropped = settings.allowParamDrop ? madeWith(stored).dropped : [];
  return {
    ...samplingOf(settings),
    ...(settings.fitMaxTokens && !wasAskedWithoutFit(stored) ? { fitMaxTokens: true } : {}),
    ...(dropped.length > 0 ? { dropped } : {}),
  };
}

/**
 * A run begun without `--fit-max-tokens` may go on with it: rows that did not overflow were asked in the same way, those that did
 * have no prediction, and each row that is fitted is flagged.
 */
function wasAskedWithoutFit(stored: Manifest | undefined): boolean {
  const { sampling } = madeWith(stored);
  return sampling !== undefined && !('fitMaxTokens' in sampling);
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // Entries forget the type of each key; none is added, and only what is undefined is taken away.
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
