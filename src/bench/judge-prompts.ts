// The bundled prompts of the judge modes that need no rubric.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JudgePrompt } from '../judge-prompt.js';
import { fingerprintOf, readText } from './prompt-files.js';

// Seen from src/bench as from dist/bench, the package's root is two folders up.
const JUDGE_PROMPTS = fileURLToPath(new URL('../../prompts/judge', import.meta.url));

/** The prompt of a mode: prompts/judge/<mode>/. @throws UserError where it is not where the package keeps it. */
export async function loadJudgePrompt(mode: string): Promise<JudgePrompt> {
  const [system, user] = await Promise.all(
    ['system.txt', 'user.txt'].map(async (file) => (await readText(join(JUDGE_PROMPTS, mode, file))).trim()),
  );
  // Two files were read.
  const texts = { system: system as string, user: user as string };
  return { ...texts, fingerprint: fingerprintOf(texts) };
}
