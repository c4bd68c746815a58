// The prompts that turn a language model into an environment, an agent or a judge: the bundled ones, and those in a user's folder.

import { createHash } from 'node:crypto';
import { access, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { badData, codeOf, inputMissing } from '../core/errors.js';
import { isDomain } from './sample.js';

// Both from src/benchmark and from dist/benchmark, the package's root is two folders up.
const BUNDLED = fileURLToPath(new URL('../../prompts', import.meta.url));
const ENDING = '.txt';

/** System prompts by domain: <domain>.txt, with those of the user's own folder added or replacing them. */
export type DomainPrompts = ReturnType<typeof domainPrompts>;

/**
 * Reads the bundled prompts of a world model, or of an agent that acts in an environment, and those in `folder`, which add to them and
 * replace them if both have a domain.
 * @throws UserError (66) for what cannot be read; (65) for a file of the folder that is empty, not UTF-8, or names no domain
 */
export async function loadPrompts(whose: 'world-model' | 'agent', folder?: string): Promise<DomainPrompts> {
  const bundled = await promptsIn(join(BUNDLED, whose));
  return domainPrompts([...bundled, ...(folder === undefined ? [] : await promptsIn(folder))]);
}

type Prompt = readonly [domain: string, text: string];

/** If a domain has several prompts, the last one wins. */
function domainPrompts(all: readonly Prompt[]) {
  const prompts = new Map(all);
  const sorted = [...prompts].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    /** SHA-256 in hex over the domains' names and prompts. */
    fingerprint: fingerprintOf(sorted),
    /** In alphabetical order. */
    domains: sorted.map(([domain]) => domain),
    prompt: (domain: string) => prompts.get(domain),
  };
}

async function promptsIn(folder: string): Promise<Prompt[]> {
  const prompts: Prompt[] = [];
  for (const file of (await listFolder(folder, '--domain-prompts')).filter((name) => name.endsWith(ENDING)).sort()) {
    const domain = basename(file, ENDING);
    if (!isDomain(domain)) throw badData(`${join(folder, file)} names no domain: its name has to be one word`);
    prompts.push([domain, (await readText(join(folder, file))).trim()]);
  }
  if (prompts.length === 0) throw badData(`${folder} has no prompts; name each file <domain>${ENDING}`);
  return prompts;
}

/** The prompt of a judge mode that needs no rubric. */
export type JudgePrompt = Awaited<ReturnType<typeof loadJudgePrompt>>;

/** The prompt of a mode: prompts/judge/<mode>/. @throws UserError if it is missing from the package. */
export async function loadJudgePrompt(mode: string) {
  const textOf = async (file: string) => (await readText(join(BUNDLED, 'judge', mode, file))).trim();
  // In the user message, `{history}`, `{input}`, `{truth}`, `{first}` and `{second}` are replaced by what is shown.
  const texts = { system: await textOf('system.txt'), user: await textOf('user.txt') };
  // The start of the hash over both texts identifies the prompt.
  return { ...texts, fingerprint: fingerprintOf(texts) };
}

/** The names in a folder, which `flag` can name. @throws UserError (66) */
export async function listFolder(folder: string, flag = '--rubrics (a folder, awb-3 or official)'): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    throw inputMissing(
      `cannot read the folder ${folder} (${codeOf(error) ?? error}); check the path of ${flag}, or reinstall the package if the folder is part of it`,
    );
  }
}

/**
 * The text as Python's text mode reads it: UTF-8 with a byte order mark kept, and every line end as a newline. Never blank. @throws
 * UserError 66, or 65 for what is not text.
 */
export async function readText(file: string, remedy = 'restore it, or use a complete folder'): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw inputMissing(`cannot read ${file} (${codeOf(error) ?? error}); ${remedy}`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw badData(`${file} is not UTF-8; save it as UTF-8`);
  }
  if (text.trim() === '') throw badData(`${file} is empty; write its text, or copy it from the original`);
  return text.replace(/\r\n?/g, '\n');
}

/** Whether such a file exists, as far as can be determined. */
export async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR',
  );
}

/** SHA-256 in hex over the JSON of the contents. */
export function fingerprintOf(contents: unknown): string {
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex');
}
