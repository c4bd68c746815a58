// The system prompts of an agent that acts in an environment: the bundled ones, and those of a user's folder.

import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentPrompts } from '../agent-prompts.js';
import { fingerprintOf, listFolder, readText } from './prompt-files.js';

// Seen from src/bench as from dist/bench, the package's root is two folders up.
const AGENT_PROMPTS = fileURLToPath(new URL('../../prompts/agent', import.meta.url));
const ENDING = '.txt';

/**
 * Reads the bundled prompts of agents, prompts/agent/<domain>.txt, and those of `folder`, which add to them and stand in their place
 * where both have a domain. @throws UserError (66) for what cannot be read, (65) for an empty file or no UTF-8
 */
export async function loadAgentPrompts(folder?: string): Promise<AgentPrompts> {
  const prompts = new Map<string, string>();
  for (const place of [AGENT_PROMPTS, ...(folder === undefined ? [] : [folder])]) {
    for (const file of (await listFolder(place, '--domain-prompts')).filter((name) => name.endsWith(ENDING))) {
      prompts.set(basename(file, ENDING), (await readText(join(place, file))).trim());
    }
  }
  const sorted = [...prompts].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    fingerprint: fingerprintOf(sorted),
    domains: sorted.map(([domain]) => domain),
    prompt: (domain) => prompts.get(domain),
  };
}
