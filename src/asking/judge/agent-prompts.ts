// How the agent of a judging is told to act: by the bundled prompts, and those of --domain-prompts.

import { join, resolve } from 'node:path';
import type { DomainPrompts } from '../../bench/prompts.js';
import { loadAgentPrompts } from '../../bench/prompts.js';
import { UserError } from '../../errors.js';
import type { Mode } from '../../judge/mode.js';

/** Where a folder of the user's prompts keeps those of agents. */
const AGENT = 'agent';

/** Reads them when they are wanted. @throws UserError (2) where --domain-prompts is given to a mode that asks no agent */
export function agentPromptsFor(
  { asksAgent }: Mode,
  { mode, domainPrompts }: { readonly mode: string; readonly domainPrompts?: string | undefined },
  cwd: string,
): () => Promise<DomainPrompts> {
  if (domainPrompts !== undefined && asksAgent !== true) {
    throw new UserError(
      `--domain-prompts says how an agent acts, and --mode ${mode} asks none; leave it out, or give --mode decision`,
    );
  }
  return () => loadAgentPrompts(domainPrompts === undefined ? undefined : join(resolve(cwd, domainPrompts), AGENT));
}
