// What is sent with every request, and how it stands in a run's identity.

import type { Identity } from '../core/identity.js';
import { hideKeys } from '../core/redaction.js';
import { PARAMETERS, type Sampling, type SamplingValues } from '../core/sampling.js';
import { madeWith } from './made-with.js';
import type { Manifest } from './manifest.js';
import type { AskingSettings, CallSettings } from './options.js';

/** The values to send, from flags and preset; what is absent is not sent. The seed and the extra body stand last, as they always did. */
export function samplingOf(settings: CallSettings): Sampling {
  const preset = settings.preset === 'model-card' ? { topP: 0.95, topK: 20 } : {};
  const { temperature, topP, topK, seed, extraBody } = settings;
  const values: SamplingValues = {
    ...settings,
    temperature: temperature === 'default' ? undefined : temperature,
    topP: topP ?? preset.topP,
    topK: topK ?? preset.topK,
  };
  const given = PARAMETERS.filter(({ name }) => name !== 'seed').map(({ name }) => [name, values[name]]);
  const sent = [...given, ['seed', seed], ['extraBody', extraBody]].filter(([, value]) => value !== undefined);
  // Each value is that of its name in `values`, and none is undefined.
  return Object.fromEntries(sent) as Sampling;
}

/**
 * What the numbers depend on of all that: no key. Parameters dropped by an earlier session of the run are taken over where dropping is
 * still allowed; where it no longer is, the identity differs and says so.
 */
export function samplingIdentity(settings: AskingSettings, stored: Manifest | undefined): Identity {
  const dropped = settings.allowParamDrop ? madeWith(stored).dropped : [];
  return {
    ...hideKeys(samplingOf(settings)),
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
