// awb watch: checkpoints that arrive in a folder are served, inferred, judged, scored and gated against a fixed base.

import { join, resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../core/json.js';
import { oneLine } from '../core/printable.js';
import { shellLine } from '../core/shell.js';
import type { Io, TextSink } from '../core/types.js';
import { readJson } from '../disk/file-reading.js';
import { writeJson } from '../disk/files.js';
import { wordsFor } from '../results/databases.js';
import { readRun } from '../results/find.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand, type RunAwb, type ShownSettings } from '../settings/command.js';
import type { Settings } from '../settings/options.js';
import { programName } from '../settings/program-name.js';
import { shownPath } from '../settings/shown-path.js';
import { STEPS } from './watch/checkpoints.js';
import { argumentsOf } from './watch/evaluating.js';
import { WATCH_OPTIONS, type WatchSettings } from './watch/options.js';
import { watch } from './watch/watching.js';

export const command = defineCommand({
  description:
    'Evaluates every checkpoint that arrives in a folder, one at a time: it is served by --serve-command, then awb infer, judge, score and gate run with the settings of the configuration file. The gate holds it against the fixed --base; how it stands to the last GO is told for information. The same command goes on after any kill. Exit codes of --once: 0 GO or nothing new, 4 NO-GO, 3 INCOMPLETE, 5 INCONCLUSIVE, 75 results of --judge-batch are awaited, 69 a checkpoint could not be evaluated; the worst of all.',
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
  return watch(settings, () => fixedBase(settings, io), io);
}

/** @throws UserError (2) for settings that a step would refuse: before any server is started */
async function requireSound(settings: WatchSettings, io: Io, awb: RunAwb): Promise<void> {
  for (const step of STEPS) {
    const [stdout, stderr] = [keptText(), keptText()];
    const args = argumentsOf(step, { name: 'checkpoint', dir: settings.outputDir }, settings);
    const code = await awb([...args, '--print-config', '--json'], { ...io, stdout, stderr });
    if (code !== EXIT.done)
      throw new UserError(
        stderr
          .text()
          .trim()
          .replace(/^awb: /, ''),
        code,
      );
    if (step === 'infer' || !settings.judgeBatch) requireNoBatchDir(step, parseObject(stdout.text()));
  }
}

function keptText(): TextSink & { text(): string } {
  const pieces: string[] = [];
  return { isTTY: false, columns: 80, write: (piece) => void pieces.push(piece), text: () => pieces.join('') };
}

/** The base as it was at the first start: how it was named, by what it is found, and SHA-256 hex of the bytes that it was judged in. */
interface Pinned extends Pick<ReadRun, 'source' | 'sha256'> {
  readonly base: string;
  readonly run: string;
}

/**
 * The name of the run that the first start held checkpoints against, whatever is labelled or scored since.
 * @throws UserError: 2 for a base that is no run, or may be any of several; 78 where it has become another one
 */
async function fixedBase(settings: WatchSettings, io: Io): Promise<string> {
  const { base, db } = settings;
  const path = join(resolve(io.cwd, settings.outputDir), 'watch.base.json');
  const read = (name: string) => readRun(name, { db: [db], quiet: true, fixed: (one) => `--base ${one}` }, io);
  const found = await readJson(path);
  if (found === undefined) {
    const { id, source, sha256 } = await read(base);
    const pinned: Pinned = { base, run: id === undefined ? source : String(id), source, sha256 };
    if (!settings.dryRun) await writeJson(path, { schema: 'awb.watch-base/1', ...pinned });
    return pinned.run;
  }
  // A watch has written it, in this form.
  const pinned = found as unknown as Pinned;
  const isSame = async (name: string) => (await read(name)).sha256 === pinned.sha256;
  const source = shownPath(pinned.source, io);
  const isStored = pinned.run !== pinned.source;
  const holds = `${shownPath(path, io)} holds checkpoints against ${isStored ? `run ${pinned.run}, ` : ''}${source}`;
  if (base !== pinned.base && !(await isSame(base))) {
    throw new UserError(
      `${holds}, and --base ${oneLine(base, 80)} is another run; give --base ${shellLine([pinned.base])}, or another --output-dir to hold them against that one`,
      EXIT.identityDiffers,
    );
  }
  for (const name of new Set([pinned.run, pinned.source])) if (await isSame(name).catch(isAbsent)) return name;
  const score = ['score', source, ...wordsFor(resolve(io.cwd, db), io)];
  throw new UserError(
    `${holds} as it was scored at the first start, and that is no longer there; bring back the judged file of SHA-256 ${pinned.sha256.slice(0, 12)}${isStored ? ` and type ${programName(io)} ${shellLine(score)}` : ''}, or give another --output-dir to hold them against what is there now`,
    EXIT.identityDiffers,
  );
}

function isAbsent(error: unknown): false {
  if (error instanceof UserError) return false;
  throw error;
}

/** One folder of batch files for all checkpoints would be that of another run from the second one on. */
function requireNoBatchDir(step: string, shown: JsonObject | undefined): void {
  const { 'batch-dir': given } = asObject(shown?.settings);
  if (!isObject(given) || given.value === null) return;
  throw new UserError(
    step === 'judge'
      ? 'awb watch gives each checkpoint batch files of its own: take batch-dir out of the settings of judge, and give --judge-batch'
      : `awb watch asks a checkpoint that is served live: take batch-dir out of the settings of ${step}`,
  );
}
