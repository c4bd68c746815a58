// The options by which infer and judge ask a model: whom, sampling and speed.

import type { Identity } from '../core/identity.js';
import { hideKeys } from '../core/redaction.js';
import { PARAMETERS, type Sampling, type SamplingFlag, type SamplingValues } from '../core/sampling.js';
import { PRICE_OPTIONS } from '../model/prices/prices.js';
import { type OptionSpec, type OptionTable, type Settings, under } from '../settings/command.js';
import { madeWith } from './made-with.js';
import type { Manifest } from './manifest.js';

/** An option for each sampling parameter, no more and no fewer: one that the table of parameters lacks would not be sent. */
const PARAMETER_OPTIONS = {
  ...under('Sampling', {
    'max-tokens': { kind: 'integer', min: 1, default: 32768, help: 'output budget, thinking included' },
    temperature: {
      kind: 'number',
      min: 0,
      words: ['default'],
      default: 0.6,
      help: 'sampling temperature; the word default sends none',
    },
    'top-p': { kind: 'number', min: 0, max: 1, help: 'sent only when given, like all below' },
    'top-k': { kind: 'integer', min: -1, help: 'keep the N likeliest tokens' },
    'min-p': { kind: 'number', min: 0, max: 1, help: 'least share of the likeliest token' },
    'presence-penalty': { kind: 'number', min: -2, max: 2, help: 'penalty for repeated tokens' },
    'reasoning-effort': { kind: 'text', value: 'LEVEL', help: 'reasoning effort, such as low or high' },
    seed: { kind: 'integer', min: 0, help: 'seed; repeats and further attempts vary it reproducibly' },
  }),
} as const satisfies Record<SamplingFlag, OptionSpec>;

export const ASKING_OPTIONS = {
  local: {
    kind: 'text',
    value: 'MODEL',
    group: 'Model',
    help: 'serve this GGUF file or hub model here for the run, one call a slot; AWB_… variables of awb serve apply',
  },
  ...PARAMETER_OPTIONS,
  ...under('Sampling', {
    'extra-body': { kind: 'json', value: 'JSON', help: 'object merged into the request body' },
    preset: {
      kind: 'choice',
      choices: ['model-card'],
      help: 'model-card: top-p 0.95 and top-k 20 beside temperature 0.6',
    },
    'allow-param-drop': {
      kind: 'boolean',
      help: "leave out a parameter that the server rejects; becomes part of the run's identity",
    },
    'fit-max-tokens': {
      kind: 'boolean',
      help: 'where the context overflows, ask once more with the budget that fits, and flag the row',
    },
  }),
  ...under('Speed', {
    concurrency: {
      kind: 'integer',
      min: 1,
      max: 4096,
      words: ['adaptive'],
      default: 'adaptive',
      help: 'calls in flight per endpoint, kept exactly; or adaptive, up to 256',
    },
    stream: { kind: 'boolean', default: true, help: 'ask for whole replies instead of streams' },
    'first-token-timeout': { kind: 'duration', min: 0.001, default: 900, help: 'longest wait for the first token' },
    'gap-timeout': { kind: 'duration', min: 0.001, default: 300, help: 'longest wait between two tokens' },
    'call-timeout': { kind: 'duration', min: 0.001, default: 3600, help: 'longest call' },
    'max-attempts': { kind: 'integer', min: 1, default: 6, help: 'tries of a call that fails for a passing reason' },
    'retry-minutes': {
      kind: 'number',
      min: 0,
      default: 10,
      help: 'longest time of trying again, and longest outage of an endpoint',
    },
    'wait-ready': {
      kind: 'duration',
      min: 0,
      default: 0,
      help: 'longest wait for an engine that is still loading its model, such as 15m',
    },
    'keep-going': { kind: 'boolean', help: 'go on even if the first 20 rows all fail in the same way' },
    rpm: {
      kind: 'integer',
      min: 1,
      help: 'start at most N calls a minute, evenly, over all endpoints of this command; retries count',
    },
    tpm: { kind: 'integer', min: 1, help: 'start calls of at most N tokens a minute, prompt and expected output' },
  }),
  ...PRICE_OPTIONS,
  ...under('Cost', {
    tokenizer: {
      kind: 'text',
      value: 'FILE',
      help: '--dry-run: count prompts by this tokenizer.json of the model, or by the one in this folder',
    },
    'dry-run': {
      kind: 'boolean',
      help: 'show what is still to be asked, its tokens, cost and time; nothing is asked or written',
    },
    'estimate-from': {
      kind: 'list',
      value: 'RUN',
      belongsTo: 'dry-run',
      help: '--dry-run: estimate by these runs (folders or files)',
    },
    rate: {
      kind: 'number',
      min: 0.001,
      value: 'N',
      belongsTo: 'dry-run',
      help: '--dry-run: calls a minute, for the time',
    },
    'budget-usd': {
      kind: 'number',
      min: 0.0001,
      value: 'X',
      help: 'stop once the run has cost X US dollars, all sessions together (exit 75); a larger budget goes on',
    },
    'budget-tokens': {
      kind: 'integer',
      min: 1,
      help: 'stop once the run has taken N tokens, prompt (cached or not) and output',
    },
  }),
  events: {
    kind: 'text',
    value: 'FILE',
    group: 'Output',
    help: 'append what happens to FILE as JSON lines (docs/events.md)',
  },
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
