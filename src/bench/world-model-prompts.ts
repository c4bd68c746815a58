// The bundled system prompts that turn a language model into an environment.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fingerprintOf, listFolder, readText } from './prompt-files.js';

// Seen from src/bench as from dist/bench, the package's root is two folders up.
const WORLD_MODEL_PROMPTS = fileURLToPath(new URL('../../prompts/world-model', import.meta.url));

/** Prompts by domain: prompts/world-model/<domain>.txt. */
export interface WorldModelPrompts {
  /** SHA-256 in hex over the domains' names and prompts. */
  readonly fingerprint: string;
  prompt(domain: string): string | undefined;
}

/** Reads the bundled world-model prompts. Throws a UserError when they are not where the package keeps them. */
export async function loadWorldModelPrompts(): Promise<WorldModelPrompts> {
  const files = (await listFolder(WORLD_MODEL_PROMPTS)).filter((file) => file.endsWith('.txt')).sort();
  const prompts = new Map<string, string>();
  for (const file of files) {
    prompts.set(file.slice(0, -'.txt'.length), (await readText(join(WORLD_MODEL_PROMPTS, file))).trim());
  }
  return { fingerprint: fingerprintOf([...prompts]), prompt: (domain) => prompts.get(domain) };
}
