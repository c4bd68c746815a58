// Small made-up benchmark folders, and what a run leaves in its folder.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface MadeUpRow {
  readonly task: string;
  readonly id: number | string;
  readonly prompt: readonly string[];
  readonly response: readonly string[];
  readonly current_prompt: string;
  readonly system_str: string;
  readonly turn_idx: number;
  readonly total_turns: number;
}

/** The row of one turn (1-based) of a made-up trajectory. */
export function madeUpRow(domain: string, id: number | string, turn = 1): MadeUpRow {
  const turns = Array.from({ length: turn }, (_, index) => index + 1);
  const current = (at: number) => `### Turn ${at}\n**Action:**\nstep ${at} of ${domain} ${id}`;
  return {
    task: `lwm/${domain}`,
    id,
    prompt: turns.map((at) =>
      at < turn ? current(at) : `${current(at)}\n\nPlease analyze the input above, in <predicted_observation> tags.`,
    ),
    response: turns.map((at) => `**Environment Observation:**\nresult ${at} of ${domain} ${id}`),
    current_prompt: current(turn),
    system_str: `You are the environment of ${domain}.`,
    turn_idx: turn,
    total_turns: turn + 1,
  };
}

/** `count` rows of a domain, in trajectories of three turns each, so that rows share prefixes. */
export function madeUpRows(domain: string, count: number): MadeUpRow[] {
  return Array.from({ length: count }, (_, index) => madeUpRow(domain, Math.floor(index / 3), (index % 3) + 1));
}

/** Writes a benchmark folder: rows, or unchanged lines, by file name. */
export async function writeDataset(
  dir: string,
  files: Readonly<Record<string, readonly (MadeUpRow | Record<string, unknown> | string)[]>>,
): Promise<string> {
  await mkdir(dir, { recursive: true });
  for (const [name, rows] of Object.entries(files)) {
    const lines = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row)));
    await writeFile(join(dir, name), lines.map((line) => `${line}\n`).join(''));
  }
  return dir;
}

/** The objects of a JSONL file, without a torn last line. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of any shape
export async function readRows(path: string): Promise<any[]> {
  const text = await readFile(path, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Every byte of every file in a folder, as one text. */
export async function everythingIn(dir: string): Promise<string> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')))).join('\n');
}
