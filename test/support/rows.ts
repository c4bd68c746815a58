// Benchmark rows for tests, and files of them.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The text of a usable row of turn 2, with these keys replaced; `undefined` omits one. */
export function rowText(keys: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    task: 'mcp',
    id: 1,
    prompt: ['first', 'second\n\nPlease analyze the input above and so on'],
    response: ['one', 'two'],
    current_prompt: 'second',
    system_str: 'You are an environment.',
    turn_idx: 2,
    total_turns: 5,
    ...keys,
  });
}

/** Writes lines to a file and returns its path. */
export async function writeText(
  folder: string,
  name: string,
  lines: readonly (string | Uint8Array)[],
): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, Buffer.concat(lines.flatMap((line) => [Buffer.from(line as string), Buffer.from('\n')])));
  return path;
}
