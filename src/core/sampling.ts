// The sampling parameters: each one's name in settings and on the wire, and how a user leaves it out. One table for all who need them.

import { keysOf } from './groups.js';

interface Parameter {
  /** Its name in the body of a request. */
  readonly wire: string;
  readonly kind: 'number' | 'text';
  /** Only a chat knows it; it stays out of a completion's body. */
  readonly chatOnly?: true;
  /** How the user leaves it out where a server rejects it; absent for the output budget, which goes by either of two names. */
  readonly leftOutBy?: string;
}

/** By the name of the setting in camelCase, in the order in which a body holds them. */
const SAMPLING = {
  maxTokens: { wire: 'max_tokens', kind: 'number' },
  temperature: { wire: 'temperature', kind: 'number', leftOutBy: 'leave it out with --temperature default' },
  topP: { wire: 'top_p', kind: 'number', leftOutBy: 'leave out --top-p (or the preset that sets it)' },
  topK: { wire: 'top_k', kind: 'number', leftOutBy: 'leave out --top-k (or the preset that sets it)' },
  minP: { wire: 'min_p', kind: 'number', leftOutBy: 'leave out --min-p' },
  // The run's seed; what is sent also depends on repeat and attempt (see `ModelRequest.seedOffset`).
  seed: { wire: 'seed', kind: 'number', leftOutBy: 'leave out --seed' },
  presencePenalty: { wire: 'presence_penalty', kind: 'number', leftOutBy: 'leave out --presence-penalty' },
  reasoningEffort: {
    wire: 'reasoning_effort',
    kind: 'text',
    chatOnly: true,
    leftOutBy: 'leave out --reasoning-effort',
  },
} as const satisfies Record<string, Parameter>;

type ParameterName = keyof typeof SAMPLING;
type ValueOf<Name extends ParameterName> = (typeof SAMPLING)[Name]['kind'] extends 'text' ? string : number;

/** A value for each parameter, or none. */
export type SamplingValues = { readonly [Name in ParameterName]: ValueOf<Name> | undefined };

type SamplingGiven = { readonly [Name in ParameterName]?: ValueOf<Name> };

/** What is sent beside the messages or the prompt. An absent value is not sent at all. */
export interface Sampling extends SamplingGiven {
  /** Merged into the request body last. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

type Kebab<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `-${Lowercase<First>}`}${Kebab<Rest>}`
  : Name;

/** The flags of the parameters, without the dashes in front: `top-p`. */
export type SamplingFlag = Kebab<ParameterName>;

/** The names in settings, and each one's parameter, in the order in which a body holds them. */
export const PARAMETERS: readonly (Parameter & { readonly name: ParameterName })[] = keysOf(SAMPLING).map((name) => ({
  name,
  ...SAMPLING[name],
}));
