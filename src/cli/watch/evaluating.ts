// Takes one checkpoint from its server to its verdict: the steps of this program, each in its own process, the result's document, and the
// command that receives it. Finished steps are recorded, so that a watch can continue after a kill.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode } from '../../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../../core/json.js';
import type { Io } from '../../core/types.js';
import { writeJson } from '../../disk/files.js';
import { type Kept, keepRecord, recordIn, STEPS, type Step, type WatchSettings } from './checkpoints.js';
import {
  endpointAt,
  envFor,
  filled,
  NotEvaluated,
  PROGRAM,
  type Server,
  startGuarded,
  tailOf,
  withServer,
  wordsOf,
} from './processes.js';

/** Logs an event: a line for people, and members for programs. */
export type Say = (
  type: 'started' | 'serving' | 'step' | 'result' | 'failed' | 'command' | 'stopped',
  text: string,
  members?: JsonObject,
) => Promise<void>;

const LONGEST_COMMAND_MS = 10 * 60_000;
const COMMAND_GRACE_MS = 5_000;

export interface Work {
  readonly settings: WatchSettings;
  readonly io: Io;
  readonly say: Say;
  /** Checks that the base is still the run of the first start, and returns the name by which a gate finds it. */
  readonly baseOf: () => Promise<string>;
  /** Absolute. */
  readonly outputDir: string;
}

const VERDICTS = ['GO', 'NO-GO', 'INCONCLUSIVE', 'INCOMPLETE', 'ADVICE'] as const;

/** The outcome for a checkpoint: the type of its event, the exit code of `--once`, a sentence, and the content of its document. */
interface Outcome {
  readonly type: 'result' | 'failed';
  readonly code: ExitCode;
  readonly text: string;
  readonly result: JsonObject & { readonly verdict: string };
}

/**
 * Evaluates what is left of a checkpoint, then writes and reports its result.
 * @returns the verdict, its exit code, its line of text, and the path of its document
 * @throws the reason of `io.stop`, and UserError if the folder cannot be written
 */
export async function evaluate(work: Work, kept: Kept) {
  const { settings, io, say } = work;
  await keepRecord(kept, {});
  const { name, path: place, stamp, failures } = kept.record;
  const outcome = await decided(work, kept).catch((error: unknown): Outcome => {
    if (io.stop.aborted || !(error instanceof NotEvaluated)) throw error;
    const reason = error.message;
    const will_retry = failures + 1 < settings.tries;
    const text = `not evaluated: ${reason}; ${will_retry ? 'it will be tried again' : 'it is skipped until it changes'}`;
    return { type: 'failed', code: EXIT.unavailable, text, result: { verdict: 'FAILED', reason, will_retry } };
  });
  const { type, code, result } = outcome;
  const { verdict } = result;
  if (type === 'failed') await keepRecord(kept, { failures: failures + 1 });
  const path = join(kept.dir, 'result.json');
  const head = { schema: 'awb.watch-result/1', at: new Date().toISOString(), checkpoint: { name, path: place, stamp } };
  await writeJson(path, { ...head, dir: kept.dir, base: settings.base, ...result });
  const text = `${name}: ${outcome.text}`;
  await say(type, text, { checkpoint: name, verdict, result: path });
  await runOnResult(work, kept, path);
  if (type === 'result') await keepRecord(kept, { verdict, finishedAt: new Date().toISOString() });
  return { name, verdict, code, text, path };
}

/** Runs the remaining steps. @throws NotEvaluated */
async function decided(work: Work, kept: Kept): Promise<Outcome> {
  const { settings, io, say, baseOf } = work;
  const { dir } = kept;
  const { name } = kept.record;
  for (const step of STEPS) {
    if (kept.record.steps[step] !== undefined) continue;
    const began = performance.now();
    const place = { name, dir, ...(step === 'gate' && { base: await baseOf() }) };
    if (step === 'infer') await say('serving', `${name}: starting its server`, { checkpoint: name });
    const code = await (step === 'infer'
      ? withServer(kept.record, dir, settings, io, (server) =>
          runStep(step, { ...place, server }, settings, io, server.lost),
        )
      : runStep(step, place, settings, io));
    await keepRecord(kept, { steps: { ...kept.record.steps, [step]: code } });
    const seconds = Math.round((performance.now() - began) / 1000);
    const text = `${name}: ${step} done${code === 0 ? '' : ` (exit code ${code})`} in ${seconds} s`;
    await say('step', text, { checkpoint: name, step, exit_code: code, seconds });
  }
  const { verdict: named, summary = null, advice = null, comparison } = (await documentOf(dir, 'gate')) ?? {};
  const verdict = VERDICTS.find((known) => known === named);
  if (verdict === undefined) throw new NotEvaluated('awb gate printed no verdict');
  const last_go = await againstLastGo(work, dir);
  const scored = await documentOf(dir, 'score');
  const score = scored ? { overall: scored.overall ?? null, coverage: scored.coverage ?? null } : null;
  const exit_code = DECIDED.find((known) => known === kept.record.steps.gate) ?? EXIT.done;
  const { difference } = last_go?.difference ?? {};
  const besides =
    typeof difference === 'number'
      ? ` (${difference < 0 ? '' : '+'}${difference.toFixed(2)} against the last GO, ${last_go?.name})`
      : '';
  const said = String(summary ?? '');
  const text = `${said.startsWith(`${verdict}: `) ? said : `${verdict}: ${said}`}${besides}`;
  const result = { verdict, exit_code, summary, advice, score, difference: totalOf(comparison), last_go };
  return { type: 'result', code: exit_code, text, result };
}

/** Compares with the last checkpoint that passed. Only for information, since a chain of small losses would pass every such gate. */
async function againstLastGo({ settings, io, outputDir }: Work, dir: string) {
  let last = { name: '', dir: '', at: '' };
  for (const entry of await readdir(outputDir)) {
    const own = join(outputDir, entry);
    const { name, verdict, finishedAt: at = '' } = (await recordIn(own).catch(() => undefined)) ?? { name: '' };
    if (own !== dir && verdict === 'GO' && at > last.at) last = { name, dir: own, at };
  }
  if (last.at === '') return null;
  const runs = [`--base=${join(last.dir, 'judged.jsonl')}`, `--candidate=${join(dir, 'judged.jsonl')}`];
  const { name } = last;
  try {
    await runAwb('last-go', ['compare', '--config', settings.config, ...runs, '--db', settings.db], dir, io);
  } catch (error) {
    if (error instanceof NotEvaluated) return { name, difference: null };
    throw error;
  }
  return { name, difference: totalOf(await documentOf(dir, 'last-go')) };
}

/** The difference of the overall total in a comparison, with its interval. */
function totalOf(comparison: unknown): JsonObject | null {
  const { total } = asObject(asObject(comparison).overall);
  if (!isObject(total)) return null;
  const { difference, low, high, base, candidate } = total;
  return { difference, low, high, base, candidate };
}

/**
 * Runs `--on-result` with the document on its standard input. If it fails, the watch continues.
 * @throws the reason of `io.stop` if that cut it off: the result then counts as not reported
 */
async function runOnResult(work: Work, { dir, record }: Kept, path: string): Promise<void> {
  const { settings, io, say } = work;
  if (settings.onResult.length === 0) return;
  const { name } = record;
  const words = filled(wordsOf(settings.onResult, '--on-result'), { result: path, checkpoint: record.path, name });
  const log = join(dir, 'on-result.log');
  const env = { ...envFor(io.env, settings.passEnv), AWB_WATCH_RESULT: path };
  const command = { words, env, cwd: io.cwd, log, input: path, graceMs: COMMAND_GRACE_MS };
  const ending = AbortSignal.any([io.stop, AbortSignal.timeout(LONGEST_COMMAND_MS)]);
  const { code, signal, fault } = await startGuarded(command, ending);
  if (code === 0) return;
  io.stop.throwIfAborted();
  const how = fault ?? (signal === null ? `exit code ${code}` : signal);
  await say('command', `${name}: --on-result failed (${how})${await tailOf(log)}`, { checkpoint: name });
}

const BIN = fileURLToPath(new URL('bin.js', PROGRAM));
/** A step that is told to end finishes its calls and saves. */
const STEP_GRACE_MS = 30_000;
const LOCKED_TRIES = 5;
const LOCKED_WAIT_MS = 3_000;

/** The secrets of each step. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  infer: ['AWB_MODEL_API_KEY'],
  judge: ['AWB_JUDGE_API_KEY', 'OPENAI_API_KEY', 'HF_TOKEN'],
};
/** Exit codes of steps that did their work. Any other code says nothing about the checkpoint. */
const WORKED: readonly ExitCode[] = [EXIT.done, EXIT.incomplete];
const DECIDED: readonly ExitCode[] = [...WORKED, EXIT.noGo, EXIT.inconclusive];

/** The folder of a checkpoint's run, and its server. */
interface StepPlace {
  readonly name: string;
  readonly dir: string;
  /** The gate's name for the base; by default as given. */
  readonly base?: string;
  /** Absent if infer is done. */
  readonly server?: Pick<Server, 'url' | 'model'>;
}

/** The arguments of a step. Everything that the watch does not decide is in the configuration file. */
export function argumentsOf(step: Step, place: StepPlace, settings: WatchSettings): string[] {
  const { name, dir, base = settings.base } = place;
  // There is no server yet if the arguments are only checked.
  const { url, model } = place.server ?? { url: endpointAt(settings.endpoint, settings.port ?? 8000), model: 'NAME' };
  const judged = join(dir, 'judged.jsonl');
  const own: Readonly<Record<Step, readonly string[]>> = {
    infer: ['--output-dir', dir, `--label=${name}`, '--model-base-url', url, `--model-name=${model}`],
    judge: ['--predictions', join(dir, 'predictions.jsonl'), '--output-dir', dir],
    score: ['--predictions', judged, '--db', settings.db, `--label=${name}`],
    gate: [`--base=${base}`, `--candidate=${judged}`, '--db', settings.db],
  };
  return [step, '--config', settings.config, ...own[step]];
}

/**
 * Runs a step to its end.
 * @returns its exit code; its output is in the folder (`documentOf`)
 * @throws NotEvaluated if it could not do its work; the reason of `lost` once that is aborted
 */
async function runStep(
  step: Step,
  place: StepPlace,
  settings: WatchSettings,
  io: Io,
  lost?: AbortSignal,
): Promise<number> {
  const code = await runAwb(step, argumentsOf(step, place, settings), place.dir, io, lost);
  if ((step === 'gate' ? DECIDED : WORKED).some((known) => known === code)) return code;
  throw new NotEvaluated(`awb ${step} ended with exit code ${code}${await tailOf(join(place.dir, 'steps.log'))}`);
}

/** Runs this program; stdout goes to `<name>.json` in the folder, stderr to steps.log. */
async function runAwb(
  name: string,
  args: readonly string[],
  dir: string,
  { env, cwd, stop }: Io,
  lost?: AbortSignal,
): Promise<number> {
  const log = join(dir, 'steps.log');
  const words = [process.execPath, BIN, ...args, '--json', '--no-color'];
  const task = { words, env: envFor(env, KEYS[name] ?? []), cwd, output: join(dir, `${name}.json`), log };
  const ending = lost === undefined ? stop : AbortSignal.any([stop, lost]);
  for (let tries = 0; ; tries++) {
    const { code, signal, fault } = await startGuarded({ ...task, graceMs: STEP_GRACE_MS }, ending);
    if (code !== EXIT.done) lost?.throwIfAborted();
    stop.throwIfAborted();
    if (code === null) throw new NotEvaluated(`awb ${name} was terminated (${fault ?? signal})${await tailOf(log)}`);
    // After a kill of the watch, its step may still be saving, and locks the folder until then.
    if (code !== EXIT.cannotCreate || tries === LOCKED_TRIES) return code;
    await wait(LOCKED_WAIT_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** The JSON document that a step has printed; undefined if there is none. */
async function documentOf(dir: string, name: string): Promise<JsonObject | undefined> {
  return parseObject(await readFile(join(dir, `${name}.json`), 'utf8').catch(() => ''));
}
