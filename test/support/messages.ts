// The program's output, kept in fixtures/messages/<name>.txt, so a changed message shows as a diff.

import { join } from 'node:path';
import { expect } from 'vitest';
import { awb, type CliResult, ROOT } from './cli.js';

/**
 * Runs `awb` with these arguments and compares its output with `fixtures/messages/<name>.txt`; `vitest run -u` writes the file.
 * @param hidden what differs from run to run (folders, ports), each with the word that replaces it in the file
 */
export async function holdMessage(
  name: string,
  args: readonly string[],
  hidden: Readonly<Record<string, string>> = {},
  options: Parameters<typeof awb>[1] = {},
): Promise<CliResult> {
  const result = await awb(args, options);
  const text = `$ awb ${args.join(' ')}\n${result.stdout}--- stderr\n${result.stderr}--- exit ${result.code}\n`;
  await holdText(name, text, hidden);
  return result;
}

/** Compares a text (from another process, or a part of an output) with `fixtures/messages/<name>.txt`. */
export async function holdText(name: string, text: string, hidden: Readonly<Record<string, string>> = {}) {
  const shown = Object.entries({ ...hidden, [ROOT]: '<checkout>' }).reduce(
    (shorter, [value, word]) => shorter.replaceAll(value, word),
    text,
  );
  await expect(shown).toMatchFileSnapshot(join(ROOT, 'fixtures/messages', `${name}.txt`));
}
