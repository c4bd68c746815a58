// awb watch: checkpoints that arrive in a folder are served, inferred, judged, scored and gated against a fixed base.

import { EXIT, type ExitCode, UserError } from '../errors.js';
import { readRun } from '../runs/find.js';
import { defineCommand, type RunAwb, type ShownSettings } from '../settings/command.js';
import type { Settings } from '../settings/options.js';
import type { Io } from '../types.js';
import { WATCH_OPTIONS, type WatchSettings } from '../watch/options.js';
import { STEPS } from '../watch/records.js';
import { argumentsOf } from '../watch/steps.js';
import { watch } from '../watch/watching.js';

export const command = defineCommand({
  description:
    'Evaluates every checkpoint that arrives in a folder, one at a time: it is served by --serve-command, then awb infer, judge, score and gate run with the settings of the configuration file. The gate holds it against the fixed --base; how it stands to the last GO is told for information. The same command goes on after any kill. Exit codes of --once: 0 GO or nothing new, 4 NO-GO, 3 INCOMPLETE, 5 INCONCLUSIVE, 69 a checkpoint could not be evaluated; the worst of all.',
  examples: [
    {
      line: "awb watch checkpoints --config awb.yaml --base step-0 \\\n  --serve-command 'vllm serve {checkpoint} --port {port}'",
      does: 'until it is interrupted',
    },
    { line: 'awb watch … --once', does: 'what is there, and its exit code, for cron and CI' },
    { line: 'awb watch … --dry-run', does: 'what would be done' },
    { line: "awb watch … --on-result './notify.sh {name}'", does: 'tells each result, as JSON on its standard input' },
  ],
  options: WATCH_OPTIONS,
  operands: ['dir'],
  run: watchFolder,
});

async function watchFolder(
  given: Settings<typeof WATCH_OPTIONS>,
  io: Io,
  _shown: ShownSettings,
  awb: RunAwb,
): Promise<ExitCode> {
  const { config } = given;
  if (config === undefined) {
    throw new UserError(
      'awb watch needs --config FILE: its infer, judge, score and gate take their settings from there (docs/watch.md)',
    );
  }
  const settings: WatchSettings = { ...given, config };
  await requireSound(settings, io, awb);
  return watch(settings, io);
}

/** @throws UserError (2) for settings that a step would refuse, and for a base that is no run: before any server is started */
async function requireSound(settings: WatchSettings, io: Io, awb: RunAwb): Promise<void> {
  for (const step of STEPS) {
    let said = '';
    const sink = { isTTY: false, columns: 80, write() {} };
    const stderr = {
      ...sink,
      write(text: string) {
        said += text;
      },
    };
    const args = argumentsOf(step, { name: 'checkpoint', dir: settings.outputDir }, settings);
    const code = await awb([...args, '--print-config'], { ...io, stdout: sink, stderr });
    if (code !== EXIT.done) throw new UserError(said.trim().replace(/^awb: /, ''), code);
  }
  await readRun(settings.base, { db: [settings.db], quiet: true }, io);
}
