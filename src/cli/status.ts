// awb status: what runs have come to, read from their folders while they work or afterwards.

import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { printable } from '../core/printable.js';
import { hasBlocks } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { type RunStatus, readStatuses, statusText, sumOf } from './status/status.js';

const OPTIONS = {
  dirs: {
    kind: 'list',
    value: 'DIR',
    whole: true,
    help: 'folders of runs (their --output-dir; default: results and the folders in it); several, such as those of shards, are added up',
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Shows what runs have come to, by their folders, also while another process works there: rows by domain, speed, time left, tokens, dollars and failures. Nothing is locked or written. Exit codes: 0 all complete, 75 one is running or awaits results, 3 one is not complete and nobody works on it.',
  examples: [
    { line: 'awb status', does: 'all runs in results' },
    { line: 'awb status results/step-100', does: 'a run, in another terminal than its own' },
    { line: 'awb status shards/*', does: 'several, and all together' },
    { line: 'watch -n 10 awb status results/step-100', does: 'again and again' },
    { line: "awb status results/step-100 --json | jq '.total.left'", does: 'for programs' },
  ],
  options: OPTIONS,
  operands: ['dirs'],
  run: status,
});

async function status(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const now = Date.now();
  const isNamed = settings.dirs.length > 0;
  const runs: RunStatus[] = [];
  const without: string[] = [];
  for (const dir of isNamed ? settings.dirs : await usualFolders(io)) {
    const found = await readStatuses(resolve(io.cwd, dir), dir, now);
    if (typeof found === 'string') without.push(found);
    else runs.push(...found);
  }
  if (runs.length === 0) {
    throw nothingIn(isNamed ? without.join('; ') : `there is no run in ${USUAL} or in the folders in it`);
  }
  // A glob names whatever lies there, and nobody has typed the usual folders.
  if (isNamed && without.length > 0 && !settings.quiet) {
    io.stderr.write(`left out: ${printable(without.join('; '))}\n`);
  }
  const total = sumOf(runs);
  const { columns, isTTY } = io.stdout;
  const look = { columns, color: settings.color && isTTY, blocks: isTTY && hasBlocks(io.env) };
  const document = { schema: 'awb.status/1', runs, total };
  io.stdout.write(settings.json ? `${JSON.stringify(document)}\n` : statusText(runs, total, now, look));
  if (runs.some(({ state }) => state === 'running' || state === 'awaiting')) return EXIT.later;
  return runs.every(({ state }) => state === 'complete') ? EXIT.done : EXIT.incomplete;
}

const USUAL = 'results';

/** The folder of runs that nobody named, and those in it, but for what --fresh has set aside. */
async function usualFolders({ cwd }: Io): Promise<string[]> {
  const entries = await readdir(resolve(cwd, USUAL), { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) throw nothingIn(`there is no folder ${USUAL} here`);
  const folders = entries.filter((entry) => !entry.isFile() && !/^(\.|before-)/.test(entry.name));
  const names = folders.map(({ name }) => name).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return [USUAL, ...names.map((name) => join(USUAL, name))];
}

function nothingIn(what: string): UserError {
  return new UserError(
    `${what}; name the --output-dir of a run, which has a manifest once it begins to ask`,
    EXIT.inputMissing,
  );
}
