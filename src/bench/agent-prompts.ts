// The bundled system prompts of an agent that acts in an environment.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentPrompts } from '../agent-prompts.js';
import { fingerprintOf, listFolder, readText } from './prompt-files.js';

// Seen from src/bench as from dist/bench, the package's root is two folders up.
const AGENT_PROMPTS = fileURLToPath(new URL('../../prompts/agent', import.meta.url));

/** The prompt of every domain that has none of its own. */
const OTHER = 'other.txt';

/** Reads the bundled prompts of agents: prompts/agent/<domain>.txt. Throws a UserError when they are not where the package keeps them. */
export async function loadAgentPrompts(): Promise<AgentPrompts> {
  const files = (await listFolder(AGENT_PROMPTS)).filter((file) => file.endsWith('.txt')).sort();
  const prompts = new Map<string, string>();
  for (const file of files) {
    prompts.set(file.slice(0, -'.txt'.length), (await readText(join(AGENT_PROMPTS, file))).trim());
  }
  const other = (await readText(join(AGENT_PROMPTS, OTHER))).trim();
  return { fingerprint: fingerprintOf([...prompts]), prompt: (domain) => prompts.get(domain) ?? other };
}
