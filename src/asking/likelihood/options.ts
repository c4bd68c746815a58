// The options of awb likelihood: the rows to take, and the world model whose likelihood of the truth is asked for.

import type { OptionTable, Settings } from '../../settings/options.js';
import { INFER_OPTIONS } from '../infer/options.js';
import { ASKING_OPTIONS, type AskingSettings } from '../options.js';

/** Nothing is generated, so there is nothing to sample, to stream or to fit in. */
const {
  baseline,
  repeats,
  'max-tokens': maxTokens,
  temperature,
  'top-p': topP,
  'top-k': topK,
  'min-p': minP,
  'presence-penalty': presencePenalty,
  'reasoning-effort': reasoningEffort,
  seed,
  preset,
  'allow-param-drop': allowParamDrop,
  'fit-max-tokens': fitMaxTokens,
  stream,
  'first-token-timeout': firstTokenTimeout,
  'gap-timeout': gapTimeout,
  ...taken
} = INFER_OPTIONS;

export const LIKELIHOOD_OPTIONS = {
  ...taken,
  lean: { ...taken.lean, help: 'leave the trajectory text out of likelihood.jsonl' },
} as const satisfies OptionTable;

export type LikelihoodSettings = Settings<typeof LIKELIHOOD_OPTIONS>;

/** As all stages ask: one token, which servers do not take less than, and the likeliest one, so that nothing is left to chance. */
export function askedAs(settings: LikelihoodSettings): LikelihoodSettings & AskingSettings {
  return {
    ...settings,
    maxTokens: 1,
    temperature: 0,
    topP: undefined,
    topK: undefined,
    minP: undefined,
    presencePenalty: undefined,
    reasoningEffort: undefined,
    seed: undefined,
    preset: undefined,
    allowParamDrop: false,
    fitMaxTokens: false,
    stream: false,
    // Of whole replies no first token and no gap is seen.
    firstTokenTimeout: ASKING_OPTIONS['first-token-timeout'].default,
    gapTimeout: ASKING_OPTIONS['gap-timeout'].default,
  };
}
