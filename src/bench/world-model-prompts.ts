// The system prompts that turn a language model into an environment: the bundled ones, and those of a user's folder.

import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, UserError } from '../errors.js';
import { fingerprintOf, listFolder, readText } from './prompt-files.js';
import { isDomain } from './sample.js';

// Seen from src/bench as from dist/bench, the package's root is two folders up.
const WORLD_MODEL_PROMPTS = fileURLToPath(new URL('../../prompts/world-model', import.meta.url));
const ENDING = '.txt';

/** Prompts by domain: prompts/world-model/<domain>.txt, and what a folder of the user's own has in addition or instead. */
export interface WorldModelPrompts {
  /** SHA-256 in hex over the domains' names and prompts. */
  readonly fingerprint: string;
  /** In the order of the alphabet. */
  readonly domains: readonly string[];
  prompt(domain: string): string | undefined;
}

/**
 * Reads the bundled world-model prompts, and those of `folder`, which add to them and stand in their place where both have a domain.
 * @throws UserError (66) for what cannot be read; (65) for a file of the folder that is empty, no UTF-8, or names no domain, and for a
 * folder without prompts
 */
export async function loadWorldModelPrompts(folder?: string): Promise<WorldModelPrompts> {
  const prompts = await promptsIn(WORLD_MODEL_PROMPTS);
  if (folder !== undefined) for (const [domain, text] of await ownPrompts(folder)) prompts.set(domain, text);
  const sorted = [...prompts].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    fingerprint: fingerprintOf(sorted),
    domains: sorted.map(([domain]) => domain),
    prompt: (domain) => prompts.get(domain),
  };
}

async function ownPrompts(folder: string): Promise<Map<string, string>> {
  const prompts = await promptsIn(folder);
  if (prompts.size === 0) {
    throw new UserError(
      `${folder} holds no prompt: name each file <domain>${ENDING}, such as terminal${ENDING}`,
      EXIT.badData,
    );
  }
  const odd = [...prompts.keys()].find((name) => !isDomain(name));
  if (odd !== undefined) {
    const file = join(folder, `${odd}${ENDING}`);
    throw new UserError(
      `${file} names no domain: its name has to be one word, as the last part of a row's "task" is`,
      EXIT.badData,
    );
  }
  return prompts;
}

async function promptsIn(folder: string): Promise<Map<string, string>> {
  const prompts = new Map<string, string>();
  for (const file of (await listFolder(folder, '--domain-prompts')).filter((name) => name.endsWith(ENDING)).sort()) {
    prompts.set(basename(file, ENDING), (await readText(join(folder, file))).trim());
  }
  return prompts;
}
