// The options by which infer and judge ask a model: whom, sampling and speed.

import type { Identity } from '../core/identity.js';
import { hideKeys } from '../core/redaction.js';
import { PARAMETERS, type Sampling, type SamplingFlag, type SamplingValues } from '../core/sampling.js';
import { PRICE_OPTIONS } from '../model/prices/prices.js';
import { type OptionSpec, type OptionTable, option, type Settings, under } from '../settings/command.js';
import { madeWith } from './made-with.js';
import type { Manifest } from './manifest.js';

/** An option for each sampling parameter, no more and no fewer: one that the table of parameters lacks would not be sent. */
const PARAMETER_OPTIONS = {
  ...under('Sampling', {
    'max-tokens': option.integer('output budget, thinking included', { min: 1, default: 32768 }),
    temperature: option.number('sampling temperature; the word default sends none', {
      min: 0,
      words: ['default'],
      default: 0.6,
    }),
    'top-p': option.number('sent only when given, like all below', { min: 0, max: 1 }),
    'top-k': option.integer('keep the N likeliest tokens', { min: -1 }),
    'min-p': option.number('least share of the likeliest token', { min: 0, max: 1 }),
    'presence-penalty': option.number('penalty for repeated tokens', { min: -2, max: 2 }),
    'reasoning-effort': option.text('LEVEL', 'reasoning effort, such as low or high'),
    seed: option.integer('seed; repeats and further attempts vary it reproducibly', { min: 0 }),
  }),
} as const satisfies Record<SamplingFlag, OptionSpec>;

export const ASKING_OPTIONS = {
  local: option.text(
    'MODEL',
    'serve this GGUF file or hub model here for the run, one call a slot; AWB_… variables of awb serve apply',
    { group: 'Model' },
  ),
  ...PARAMETER_OPTIONS,
  ...under('Sampling', {
    'extra-body': option.json('object merged into the request body', { value: 'JSON' }),
    preset: option.choice(['model-card'], 'model-card: top-p 0.95 and top-k 20 beside temperature 0.6'),
    'allow-param-drop': option.flag(
      "leave out a parameter that the server rejects; becomes part of the run's identity",
    ),
    'fit-max-tokens': option.flag(
      'where the context overflows, ask once more with the budget that fits, and flag the row',
    ),
  }),
  ...under('Speed', {
    concurrency: option.integer('calls in flight per endpoint, kept exactly; or adaptive, up to 256', {
      min: 1,
      max: 4096,
      words: ['adaptive'],
      default: 'adaptive',
    }),
    stream: option.flag('ask for whole replies instead of streams', { default: true }),
    'first-token-timeout': option.duration('longest wait for the first token', { min: 0.001, default: 900 }),
    'gap-timeout': option.duration('longest wait between two tokens', { min: 0.001, default: 300 }),
    'call-timeout': option.duration('longest call', { min: 0.001, default: 3600 }),
    'max-attempts': option.integer('tries of a call that fails for a passing reason', { min: 1, default: 6 }),
    'retry-minutes': option.number('longest time of trying again, and longest outage of an endpoint', {
      min: 0,
      default: 10,
    }),
    'wait-ready': option.duration('longest wait for an engine that is still loading its model, such as 15m', {
      min: 0,
      default: 0,
    }),
    'keep-going': option.flag('go on even if the first 20 rows all fail in the same way'),
    rpm: option.integer('start at most N calls a minute, evenly, over all endpoints of this command; retries count', {
      min: 1,
    }),
    tpm: option.integer('start calls of at most N tokens a minute, prompt and expected output', { min: 1 }),
  }),
  ...PRICE_OPTIONS,
  ...under('Cost', {
    tokenizer: option.text(
      'FILE',
      '--dry-run: count prompts by this tokenizer.json of the model, or by the one in this folder',
      { belongsTo: 'dry-run' },
    ),
    'dry-run': option.flag('show what is still to be asked, its tokens, cost and time; nothing is asked or written'),
    'estimate-from': option.list('RUN', '--dry-run: estimate by these runs (folders or files)', {
      belongsTo: 'dry-run',
    }),
    rate: option.number('--dry-run: calls a minute, for the time', { min: 0.001, value: 'N', belongsTo: 'dry-run' }),
    'budget-usd': option.number(
      'stop once the run has cost X US dollars, all sessions together (exit 75); a larger budget goes on',
      { min: 0.0001, value: 'X' },
    ),
    'budget-tokens': option.integer('stop once the run has taken N tokens, prompt (cached or not) and output', {
      min: 1,
    }),
  }),
  events: option.text('FILE', 'append what happens to FILE as JSON lines (docs/events.md)', { group: 'Output' }),
} as const satisfies OptionTable;

export type AskingSettings = Settings<typeof ASKING_OPTIONS>;

/** What a single call needs of them: nothing that is said of a whole run in advance. */
export type CallSettings = Omit<AskingSettings, 'tokenizer' | 'dryRun' | 'estimateFrom' | 'rate' | 'events'>;

/** What a run may spend over all its sessions. */
export type BudgetSettings = Partial<Pick<AskingSettings, 'budgetUsd' | 'budgetTokens'>>;

/** The values to send, from flags and preset; what is absent is not sent. The seed and the extra body stand last, as they always did. */
export function samplingOf({ preset, seed, extraBody, ...settings }: CallSettings): Sampling {
  const card = preset === 'model-card' ? { topP: 0.95, topK: 20 } : {};
  const { temperature, topP = card.topP, topK = card.topK } = settings;
  const given = { ...settings, temperature: temperature === 'default' ? undefined : temperature, topP, topK, seed };
  const values: Record<string, unknown> = given satisfies SamplingValues;
  const names = [...PARAMETERS.map(({ name }) => name).filter((name) => name !== 'seed'), 'seed'];
  const sent = [...names.map((name) => [name, values[name]]), ['extraBody', extraBody]];
  // Each value is that of its name in `values`, and none is undefined.
  return Object.fromEntries(sent.filter(([, value]) => value !== undefined)) as Sampling;
}

/**
 * What the numbers depend on of all that: no key. Parameters dropped by an earlier session of the run are taken over where dropping is
 * still allowed; where it no longer is, the identity differs and says so.
 */
export function samplingIdentity(settings: AskingSettings, stored: Manifest | undefined): Identity {
  const before = madeWith(stored);
  const dropped = settings.allowParamDrop ? before.dropped : [];
  // A run begun without `--fit-max-tokens` may go on with it: rows that did not overflow were asked in the same way, those that did have
  // no prediction, and each row that is fitted is flagged.
  const fits = settings.fitMaxTokens && (before.sampling === undefined || 'fitMaxTokens' in before.sampling);
  return {
    ...hideKeys(samplingOf(settings)),
    ...(fits && { fitMaxTokens: true }),
    ...(dropped.length > 0 && { dropped }),
  };
}
