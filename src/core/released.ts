// The benchmark as it was released: what a copy of it is measured by.

import type { DOMAINS } from './types.js';

export const RELEASED = {
  /** On the Hugging Face Hub, as a dataset. */
  repository: 'Qwen/AgentWorldBench',
  /** What is fetched unless another revision is named, so that everybody has the same rows. */
  commit: '6b8d28437042434dcdd168434227ca0de408c5ba',
  /** Rows by domain. */
  rows: { mcp: 286, search: 458, terminal: 354, swe: 472, android: 200, web: 200, os: 200 },
  /** Of the model's context: a longer row cannot be asked. */
  contextTokens: 262_144,
} as const satisfies { readonly rows: Readonly<Record<(typeof DOMAINS)[number], number>> } & Record<string, unknown>;
