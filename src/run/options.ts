// The options for how infer and judge ask a model: target, sampling and speed.

import type { Identity } from '../core/identity.js';
import { hideKeys } from '../core/redaction.js';
import { PARAMETERS, type Sampling, type SamplingFlag, type SamplingValues } from '../core/sampling.js';
import { PRICE_OPTIONS } from '../model/prices/prices.js';
import { type OptionSpec, type OptionTable, option, type Settings, under } from '../settings/command.js';
import { madeWith } from './made-with.js';
import type { Manifest } from './manifest.js';

/** One option for each sampling parameter, no more and no fewer: an option missing from the table of parameters would not be sent. */
const PARAMETER_OPTIONS = {
  ...under('Sampling', {
    'max-tokens': option.integer('output budget, thinking included', { min: 1, default: 32768 }),
    temperature: option.number('sampling temperature; the word default sends none', {
      min: 0,
      words: ['default'],
      default: 0.6,
    }),
    'top-p': option.number('nucleus sampling; sent only if given, like the options below', { min: 0, max: 1 }),
    'top-k': option.integer('keep the N most likely tokens', { min: -1 }),
    'min-p': option.number('minimum probability relative to the most likely token', { min: 0, max: 1 }),
    'presence-penalty': option.number('penalty for repeated tokens', { min: -2, max: 2 }),
    'reasoning-effort': option.text('LEVEL', 'reasoning effort, such as low or high'),
    seed: option.integer('seed; repeats and retries vary it reproducibly', { min: 0 }),
  }),
} as const satisfies Record<SamplingFlag, OptionSpec>;

export const ASKING_OPTIONS = {
  local: option.text(
    'MODEL',
    'serve this GGUF file or hub model here for the run, one call per slot; AWB_… variables of awb serve apply',
    { group: 'Model' },
  ),
  ...PARAMETER_OPTIONS,
  ...under('Sampling', {
    'extra-body': option.json('object merged into the request body', { value: 'JSON' }),
    preset: option.choice(['model-card'], 'model-card: top-p 0.95 and top-k 20 with temperature 0.6'),
    'allow-param-drop': option.flag(
      "leave out a parameter that the server rejects; becomes part of the run's identity",
    ),
    'fit-max-tokens': option.flag(
      'if the context overflows, ask again with the largest budget that fits, and flag the row',
    ),
  }),
  ...under('Speed', {
    concurrency: option.integer('calls in flight per endpoint, kept exactly; or adaptive, up to 256', {
      min: 1,
      max: 4096,
      words: ['adaptive'],
      default: 'adaptive',
    }),
    stream: option.flag('ask for complete replies instead of streams', { default: true }),
    'first-token-timeout': option.duration('maximum wait for the first token', { min: 0.001, default: 900 }),
    'gap-timeout': option.duration('maximum wait between two tokens', { min: 0.001, default: 300 }),
    'call-timeout': option.duration('maximum time of a call', { min: 0.001, default: 3600 }),
    'max-attempts': option.integer('maximum tries of a call that fails for a transient reason', { min: 1, default: 6 }),
    'retry-minutes': option.number('maximum time for retries, and maximum outage of an endpoint', {
      min: 0,
      default: 10,
    }),
    'wait-ready': option.duration('maximum wait for an engine that is still loading its model, such as 15m', {
      min: 0,
      default: 0,
    }),
    'keep-going': option.flag('continue even if the first 20 rows all fail in the same way'),
    rpm: option.integer('start at most N calls a minute, evenly, over all endpoints of this command; retries count', {
      min: 1,
    }),
    tpm: option.integer('start calls of at most N tokens a minute, prompt and expected output', { min: 1 }),
  }),
  ...PRICE_OPTIONS,
  ...under('Cost', {
    tokenizer: option.text(
      'FILE',
      '--dry-run: count prompts with this tokenizer.json of the model, or the one in this folder',
      { belongsTo: 'dry-run' },
    ),
    'dry-run': option.flag('show what is left to ask, with tokens, cost and time; asks and writes nothing'),
    'estimate-from': option.list('RUN', '--dry-run: estimate from these runs (folders or files)', {
      belongsTo: 'dry-run',
    }),
    rate: option.number('--dry-run: assumed calls a minute', { min: 0.001, value: 'N', belongsTo: 'dry-run' }),
    'budget-usd': option.number(
      'stop once the run has cost X US dollars, all sessions together (exit 75); a larger budget continues',
      { min: 0.0001, value: 'X' },
    ),
    'budget-tokens': option.integer('stop once the run has taken N tokens, prompt (cached or not) and output', {
      min: 1,
    }),
  }),
  events: option.text('FILE', 'append events to FILE as JSON lines (docs/events.md)', { group: 'Output' }),
} as const satisfies OptionTable;

export type AskingSettings = Settings<typeof ASKING_OPTIONS>;

/** The settings needed for a single call, without those that apply to a run as a whole. */
export type CallSettings = Omit<AskingSettings, 'tokenizer' | 'dryRun' | 'estimateFrom' | 'rate' | 'events'>;

/** What a run may spend over all its sessions. */
export type BudgetSettings = Partial<Pick<AskingSettings, 'budgetUsd' | 'budgetTokens'>>;

/** The values to send, from flags and preset; absent values are not sent. The seed and the extra body come last, as they always have. */
export function samplingOf({ preset, seed, extraBody, ...settings }: CallSettings): Sampling {
  const card = preset === 'model-card' ? { topP: 0.95, topK: 20 } : {};
  const { temperature, topP = card.topP, topK = card.topK } = settings;
  const given = { ...settings, temperature: temperature === 'default' ? undefined : temperature, topP, topK, seed };
  const values: Record<string, unknown> = given satisfies SamplingValues;
  const names = [...PARAMETERS.map(({ name }) => name).filter((name) => name !== 'seed'), 'seed'];
  const sent = [...names.map((name) => [name, values[name]]), ['extraBody', extraBody]];
  // Each value belongs to its name in `values`, and none is undefined.
  return Object.fromEntries(sent.filter(([, value]) => value !== undefined)) as Sampling;
}

/**
 * The part of these settings that the numbers depend on, without keys. Parameters dropped by an earlier session of the run are kept dropped
 * if dropping is still allowed; if it no longer is, the identity differs, which is reported.
 */
export function samplingIdentity(settings: AskingSettings, stored: Manifest | undefined): Identity {
  const before = madeWith(stored);
  const dropped = settings.allowParamDrop ? before.dropped : [];
  // A run started without `--fit-max-tokens` may continue with it: rows that did not overflow were asked in the same way, those that did
  // have no prediction, and each fitted row is flagged.
  const fits = settings.fitMaxTokens && (before.sampling === undefined || 'fitMaxTokens' in before.sampling);
  return {
    ...hideKeys(samplingOf(settings)),
    ...(fits && { fitMaxTokens: true }),
    ...(dropped.length > 0 && { dropped }),
  };
}
