// The options by which infer and judge ask a model: whom, sampling and speed.

import type { SamplingFlag } from '../sampling.js';
import type { OptionSpec, OptionTable, Settings } from '../settings/options.js';
import { PRICE_OPTIONS } from '../settings/prices.js';

/** An option for each sampling parameter, no more and no fewer: one that the table of parameters lacks would not be sent. */
const PARAMETER_OPTIONS = {
  'max-tokens': {
    kind: 'integer',
    min: 1,
    default: 32768,
    group: 'Sampling',
    help: 'output budget, thinking included',
  },
  temperature: {
    kind: 'number',
    min: 0,
    words: ['default'],
    default: 0.6,
    group: 'Sampling',
    help: 'sampling temperature; the word default sends none',
  },
  'top-p': { kind: 'number', min: 0, max: 1, group: 'Sampling', help: 'sent only when given, like all below' },
  'top-k': { kind: 'integer', min: -1, group: 'Sampling', help: 'keep the N likeliest tokens' },
  'min-p': { kind: 'number', min: 0, max: 1, group: 'Sampling', help: 'least share of the likeliest token' },
  'presence-penalty': { kind: 'number', min: -2, max: 2, group: 'Sampling', help: 'penalty for repeated tokens' },
  'reasoning-effort': {
    kind: 'text',
    value: 'LEVEL',
    group: 'Sampling',
    help: 'reasoning effort, such as low or high',
  },
  seed: { kind: 'integer', min: 0, group: 'Sampling', help: 'seed; repeats and further attempts vary it reproducibly' },
} as const satisfies Record<SamplingFlag, OptionSpec>;

export const ASKING_OPTIONS = {
  local: {
    kind: 'text',
    value: 'MODEL',
    group: 'Model',
    help: 'serve this GGUF file or hub model here for the run, one call a slot; AWB_… variables of awb serve apply',
  },
  ...PARAMETER_OPTIONS,
  'extra-body': { kind: 'json', value: 'JSON', group: 'Sampling', help: 'object merged into the request body' },
  preset: {
    kind: 'choice',
    choices: ['model-card'],
    group: 'Sampling',
    help: 'model-card: top-p 0.95 and top-k 20 beside temperature 0.6',
  },
  'allow-param-drop': {
    kind: 'boolean',
    group: 'Sampling',
    help: "leave out a parameter that the server rejects; becomes part of the run's identity",
  },
  'fit-max-tokens': {
    kind: 'boolean',
    group: 'Sampling',
    help: 'where the context overflows, ask once more with the budget that fits, and flag the row',
  },
  concurrency: {
    kind: 'integer',
    min: 1,
    max: 4096,
    words: ['adaptive'],
    default: 'adaptive',
    group: 'Speed',
    help: 'calls in flight per endpoint, kept exactly; or adaptive, up to 256',
  },
  stream: { kind: 'boolean', default: true, group: 'Speed', help: 'ask for whole replies instead of streams' },
  'first-token-timeout': {
    kind: 'duration',
    min: 0.001,
    default: 900,
    group: 'Speed',
    help: 'longest wait for the first token',
  },
  'gap-timeout': {
    kind: 'duration',
    min: 0.001,
    default: 300,
    group: 'Speed',
    help: 'longest wait between two tokens',
  },
  'call-timeout': { kind: 'duration', min: 0.001, default: 3600, group: 'Speed', help: 'longest call' },
  'max-attempts': {
    kind: 'integer',
    min: 1,
    default: 6,
    group: 'Speed',
    help: 'tries of a call that fails for a passing reason',
  },
  'retry-minutes': {
    kind: 'number',
    min: 0,
    default: 10,
    group: 'Speed',
    help: 'longest time of trying again, and longest outage of an endpoint',
  },
  'wait-ready': {
    kind: 'duration',
    min: 0,
    default: 0,
    group: 'Speed',
    help: 'longest wait for an engine that is still loading its model, such as 15m',
  },
  'keep-going': {
    kind: 'boolean',
    group: 'Speed',
    help: 'go on even if the first 20 rows all fail in the same way',
  },
  rpm: {
    kind: 'integer',
    min: 1,
    group: 'Speed',
    help: 'start at most N calls a minute, evenly, over all endpoints of this command; retries count',
  },
  tpm: {
    kind: 'integer',
    min: 1,
    group: 'Speed',
    help: 'start calls of at most N tokens a minute, prompt and expected output',
  },
  ...PRICE_OPTIONS,
  tokenizer: {
    kind: 'text',
    value: 'FILE',
    group: 'Cost',
    help: '--dry-run: count prompts by this tokenizer.json of the model, or by the one in this folder',
  },
  'dry-run': {
    kind: 'boolean',
    group: 'Cost',
    help: 'show what is still to be asked, its tokens, cost and time; nothing is asked or written',
  },
  'estimate-from': {
    kind: 'list',
    value: 'RUN',
    group: 'Cost',
    belongsTo: 'dry-run',
    help: '--dry-run: estimate by these runs (folders or files)',
  },
  rate: {
    kind: 'number',
    min: 0.001,
    value: 'N',
    group: 'Cost',
    belongsTo: 'dry-run',
    help: '--dry-run: calls a minute, for the time',
  },
  'budget-usd': {
    kind: 'number',
    min: 0.0001,
    value: 'X',
    group: 'Cost',
    help: 'stop once the run has cost X US dollars, all sessions together (exit 75); a larger budget goes on',
  },
  'budget-tokens': {
    kind: 'integer',
    min: 1,
    group: 'Cost',
    help: 'stop once the run has taken N tokens, prompt (cached or not) and output',
  },
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
