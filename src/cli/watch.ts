// awb watch: serves, infers, judges, scores and gates each checkpoint that arrives in a folder, against a fixed base.

import { appendFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  cannotCreate,
  cannotWrite,
  codeOf,
  EXIT,
  type ExitCode,
  identityDiffers,
  interruption,
  UserError,
} from '../core/errors.js';
import { asObject, type JsonObject, parseObject } from '../core/json.js';
import { oneLine, printable, shellLine, shownPath } from '../core/printable.js';
import type { Io, TextSink } from '../core/types.js';
import { readJson, writeJson } from '../disk/files.js';
import { lockFile } from '../disk/lock.js';
import { readRun } from '../results/find.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand, keptText, type RunAwb } from '../settings/command.js';
import { checkpointsIn, keptOf, STEPS, WATCH_OPTIONS, type WatchSettings } from './watch/checkpoints.js';
import { argumentsOf, evaluate, type Say, type Work } from './watch/evaluating.js';
import { wordsOf } from './watch/processes.js';

export const command = defineCommand({
  description:
    'Evaluates every checkpoint that arrives in a folder, one at a time: --serve-command serves it, then awb infer, judge, score and gate run with the settings of the configuration file. The gate compares it with the fixed --base; the difference from the last GO is shown for information. The same command resumes after any interruption, even a kill. Exit codes of --once, the worst of all checkpoints: 0 GO or nothing new, 5 INCONCLUSIVE, 3 INCOMPLETE, 4 NO-GO, 69 a checkpoint could not be evaluated.',
  examples: {
    "awb watch checkpoints --config awb.yaml --base step-0 \\\n  --serve-command 'vllm serve {checkpoint} --port {port}'":
      'until it is interrupted',
    'awb watch … --once': 'only what is there now, with an exit code for cron and CI',
    "awb watch … --on-result './notify.sh {name}'": 'run a command with each result as JSON on its standard input',
  },
  options: WATCH_OPTIONS,
  operands: ['dir'],
  async run({ config, ...given }, io, _shown, awb) {
    if (config === undefined) {
      throw new UserError('awb watch needs --config FILE: its steps take their settings from there (docs/watch.md)');
    }
    const settings = { ...given, config };
    await requireSound(settings, io, awb);
    return watch(settings, () => fixedBase(settings, io), io);
  },
});

/** Checks settings before any server is started. @throws UserError (2) for settings that a step would refuse */
async function requireSound(settings: WatchSettings, io: Io, awb: RunAwb): Promise<void> {
  for (const step of STEPS) {
    const [stdout, stderr] = [keptText(), keptText()];
    const args = argumentsOf(step, { name: 'checkpoint', dir: settings.outputDir }, settings);
    const code = await awb([...args, '--print-config', '--json'], { ...io, stdout, stderr });
    if (code !== EXIT.done) throw new UserError(stderr.text().replace(/^awb: |\n$/g, ''), code);
    // From the second checkpoint on, a shared folder of batch files would belong to another run.
    const { 'batch-dir': batchDir } = asObject(parseObject(stdout.text())?.settings);
    if ((asObject(batchDir).value ?? null) === null) continue;
    throw new UserError(`all checkpoints would share one folder of batch files; remove batch-dir from ${step}`);
  }
}

/** The base at the first start: its given name, the name that finds it, and the SHA-256 (hex) of its judged file. */
interface Pinned extends Pick<ReadRun, 'source' | 'sha256'> {
  readonly base: string;
  readonly run: string;
}

/**
 * The name of the run that was the base at the first start, even if other runs were labelled or scored since.
 * @throws UserError: 2 for a base that is not a run, or is ambiguous; 78 if it has become another run
 */
async function fixedBase({ base, db, outputDir }: WatchSettings, io: Io): Promise<string> {
  const path = join(resolve(io.cwd, outputDir), 'watch.base.json');
  const read = (name: string) => readRun(name, { db: [db], quiet: true, fixed: (one) => `--base ${one}` }, io);
  // Written below, in this form.
  const pinned = (await readJson(path)) as unknown as Pinned | undefined;
  if (pinned === undefined) {
    const { id, source, sha256 } = await read(base);
    const run = id === undefined ? source : String(id);
    await writeJson(path, { schema: 'awb.watch-base/1', base, run, source, sha256 } satisfies Pinned & JsonObject);
    return run;
  }
  const holds = `according to ${shownPath(path, io)}, the base is ${pinned.base} (${shownPath(pinned.source, io)})`;
  const isSame = async (name: string) => (await read(name)).sha256 === pinned.sha256;
  if (base !== pinned.base && !(await isSame(base))) {
    throw identityDiffers(
      `${holds}, but --base ${oneLine(base, 80)} is a different run; give --base ${shellLine([pinned.base])}, or another --output-dir`,
    );
  }
  const isThere = await isSame(pinned.run).catch((error: unknown) => {
    if (error instanceof UserError) return false;
    throw error;
  });
  if (isThere) return pinned.run;
  throw identityDiffers(
    `${holds}, but the version scored at the first start no longer exists; restore the judged file of SHA-256 ${pinned.sha256.slice(0, 12)} and run awb score on it, or give another --output-dir`,
  );
}

// The watch itself: looks for checkpoints, evaluates them one at a time, and waits for more.

/** Exit codes of --once, worst first. */
const WORST_FIRST = [EXIT.unavailable, EXIT.noGo, EXIT.incomplete, EXIT.inconclusive];

/**
 * Watches until interrupted; with `once`, evaluates only what is there.
 * @throws UserError: 2 for invalid commands, 66 if the folder cannot be read, 73 if another watch works in the output folder, 74 if that
 * cannot be written; what `baseOf` throws, before anything is served and before each gate
 */
async function watch(settings: WatchSettings, baseOf: Work['baseOf'], io: Io): Promise<ExitCode> {
  requireCommands(settings);
  const dir = resolve(io.cwd, settings.dir);
  const outputDir = resolve(io.cwd, settings.outputDir);
  await checkpointsIn(dir, settings);
  await mkdir(outputDir, { recursive: true }).catch((error: unknown) => {
    throw cannotCreate(`cannot create ${settings.outputDir} (${codeOf(error)}); choose another --output-dir`);
  });
  const release = await lockFile(join(outputDir, '.watch.lock'), `another awb watch uses ${settings.outputDir}`);
  const say = logTo(join(outputDir, 'watch.jsonl'), io.stderr, settings.quiet);
  io.setLastWords('stopped immediately: run the same command again to continue');
  try {
    await baseOf();
    await say('started', `watching ${dir}, base ${settings.base}`, { dir, base: settings.base });
    while (!io.stop.aborted) {
      const told = await lookOnce({ settings, io, outputDir, baseOf, say }, dir);
      if (settings.once && !io.stop.aborted) return showResults(told, settings, io);
      await wait(settings.every * 1000, undefined, { signal: io.stop });
    }
  } catch (error) {
    if (!io.stop.aborted) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      // On a full disk no checkpoint can be evaluated, so the watch ends.
      const remedy = 'make room or fix its permissions, then repeat the same command to continue';
      throw cannotWrite(`cannot write into ${outputDir} (${code}); ${remedy}`);
    }
  } finally {
    release();
  }
  await say('stopped', 'interrupted; run the same command again to continue');
  return interruption(io.stop);
}

/** Logs to watch.jsonl, and as a line for people to stderr. If the log cannot be written, the watch continues. */
function logTo(path: string, stderr: TextSink, quiet: boolean): Say {
  return async (type, text, members = {}) => {
    const at = new Date().toISOString();
    const line = oneLine(text, 400);
    if (!quiet) stderr.write(`${at.slice(0, 19)}Z ${line}\n`);
    await appendFile(path, `${JSON.stringify({ v: 'awb.watch/1', type, at, text: line, ...members })}\n`).catch(
      (error) => stderr.write(`note: cannot write ${path} (${codeOf(error)}); the watch continues without it\n`),
    );
  };
}

/** Evaluates the checkpoints that are due, in order. One that arrives in the meantime is found by the next scan. */
async function lookOnce(work: Work, dir: string) {
  const { settings, io, outputDir } = work;
  const told: Awaited<ReturnType<typeof evaluate>>[] = [];
  for (const checkpoint of await checkpointsIn(dir, settings)) {
    if (io.stop.aborted) break;
    const kept = await keptOf(outputDir, checkpoint);
    const { verdict, failures } = kept.record;
    if (verdict === undefined && failures < settings.tries) told.push(await evaluate(work, kept));
  }
  return told;
}

/** Prints the results of --once on standard output. */
function showResults(told: Awaited<ReturnType<typeof lookOnce>>, { json }: WatchSettings, io: Io): ExitCode {
  const exitCode = WORST_FIRST.find((known) => told.some(({ code }) => code === known)) ?? EXIT.done;
  const results = told.map(({ name, verdict, path }) => ({ name, verdict, result: path }));
  const document = { schema: 'awb.watch-results/1', exit_code: exitCode, results };
  const lines = told.length === 0 ? ['nothing new'] : told.map(({ text }) => printable(text));
  io.stdout.write(json ? `${JSON.stringify(document)}\n` : `${lines.join('\n')}\n`);
  return exitCode;
}

function requireCommands({ serveCommand, onResult, endpoint, port }: WatchSettings): void {
  const words = wordsOf(serveCommand, '--serve-command');
  wordsOf(onResult, '--on-result');
  const names = (name: string) => words.some((word) => word.includes(`{${name}}`));
  if (!names('checkpoint') && !names('name')) {
    throw new UserError('--serve-command has no {checkpoint}: every checkpoint would be the same model; add it');
  }
  if (!names('port') && port === undefined && endpoint.includes('{port}')) {
    throw new UserError('--serve-command has no {port}; add it, or name the port of the server with --port');
  }
}
