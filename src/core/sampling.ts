// The sampling parameters: the name of each in settings and on the wire, and how a user leaves it out. One table for all uses.

import { keysOf } from './groups.js';

/** Each parameter's name in a request body, by the camelCase name of its setting, in the order of the body. */
const WIRE = {
  maxTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  minP: 'min_p',
  // The run's seed; what is sent also depends on repeat and attempt (see `ModelRequest.seedOffset`).
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  reasoningEffort: 'reasoning_effort',
} as const;

type ParameterName = keyof typeof WIRE;
type ValueOf<Name extends ParameterName> = Name extends 'reasoningEffort' ? string : number;

/** A value for each parameter, or undefined. */
export type SamplingValues = { readonly [Name in ParameterName]: ValueOf<Name> | undefined };

type SamplingGiven = { readonly [Name in ParameterName]?: ValueOf<Name> };

/** What is sent with the messages or the prompt. An absent value is not sent. */
export interface Sampling extends SamplingGiven {
  /** Merged into the request body last. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

type Kebab<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `-${Lowercase<First>}`}${Kebab<Rest>}`
  : Name;

/** The flags of the parameters, without the leading dashes: `top-p`. */
export type SamplingFlag = Kebab<ParameterName>;

/** The names in settings with each one's parameter, in the order of a request body. */
export const PARAMETERS = keysOf(WIRE).map((name) => ({
  name,
  wire: WIRE[name],
  /** Only a chat supports it; it is not sent with a completion. */
  chatOnly: name === 'reasoningEffort',
  /** How the user leaves it out if a server rejects it; undefined for the output budget, which has two possible names. */
  leftOutBy: name === 'maxTokens' ? undefined : leftOutBy(WIRE[name].replace('_', '-')),
}));

function leftOutBy(flag: string): string {
  if (flag === 'temperature') return 'leave it out with --temperature default';
  return `leave out --${flag}${flag.startsWith('top-') ? ' (or the preset that sets it)' : ''}`;
}
