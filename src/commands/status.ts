// awb status: what runs have come to, read from their folders while they work or afterwards.

import { resolve } from 'node:path';
import { statusDocument } from '../asking/status/document.js';
import { readStatuses } from '../asking/status/reading.js';
import { type RunStatus, sumOf } from '../asking/status/status.js';
import { statusText } from '../asking/status/text.js';
import { EXIT, type ExitCode } from '../errors.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import type { Io } from '../types.js';

const OPTIONS = {
  dirs: {
    kind: 'list',
    value: 'DIR',
    required: true,
    whole: true,
    help: 'folders of runs (their --output-dir); several, such as those of shards, are added up',
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Shows what runs have come to, by their folders, also while another process works there: rows by domain, speed, time left, tokens, dollars and failures. Nothing is locked or written. Exit codes: 0 all complete, 75 one is running or awaits results, 3 one is not complete and nobody works on it.',
  examples: [
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
  const runs: RunStatus[] = [];
  for (const dir of settings.dirs) runs.push(...(await readStatuses(resolve(io.cwd, dir), dir, now)));
  const sum = sumOf(runs);
  io.stdout.write(
    settings.json ? `${JSON.stringify(statusDocument(runs, sum))}\n` : statusText(runs, sum, now, io.stdout.columns),
  );
  return exitCodeOf(runs);
}

function exitCodeOf(runs: readonly RunStatus[]): ExitCode {
  if (runs.some(({ state }) => state === 'running' || state === 'awaiting')) return EXIT.later;
  return runs.every(({ state }) => state === 'complete') ? EXIT.done : EXIT.incomplete;
}
