// One checkpoint from its server to its verdict: steps of this program, each a process of its own, the document of its result, and the
// command that is given it. What is done is kept, so that a watch that was killed goes on where it was.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../../core/json.js';
import { counted, grouped } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { writeJson } from '../../disk/files.js';
import { type Kept, keepRecord, recordIn, STEPS, type Step } from './checkpoints.js';
import type { FixedBase, WatchSettings } from './options.js';
import {
  endpointAt,
  filled,
  givenEnv,
  NotEvaluated,
  PROGRAM,
  startGuarded,
  startServer,
  stepEnv,
  tailOf,
  wordsOf,
} from './processes.js';

/** Logs a thing that happens: a line for people, and members for programs. */
export type Say = (
  type: 'started' | 'serving' | 'step' | 'awaiting' | 'result' | 'failed' | 'command' | 'stopped',
  text: string,
  members?: JsonObject,
) => Promise<void>;

const LONGEST_COMMAND_MS = 10 * 60_000;
const COMMAND_GRACE_MS = 5_000;

export interface Work {
  readonly settings: WatchSettings;
  readonly io: Io;
  readonly say: Say;
  readonly baseOf: FixedBase;
  /** Absolute. */
  readonly outputDir: string;
}

const VERDICTS = ['GO', 'NO-GO', 'INCONCLUSIVE', 'INCOMPLETE', 'ADVICE'] as const;

/** What a checkpoint has come to, as its document tells it: a decision, or why there is none. */
export type Result =
  | {
      readonly verdict: (typeof VERDICTS)[number];
      readonly exit_code: number;
      readonly summary: unknown;
      readonly advice: unknown;
      readonly score: JsonObject | null;
      /** To the base. */
      readonly difference: JsonObject | null;
      /** Against the last checkpoint that passed, for information. */
      readonly last_go: { readonly name: string; readonly difference: JsonObject | null } | null;
    }
  | { readonly verdict: 'AWAITING'; readonly batch: AwaitedBatch }
  | { readonly verdict: 'FAILED'; readonly reason: string; readonly will_retry: boolean };

/**
 * Evaluates a checkpoint as far as it is not, writes its result and tells it.
 * @returns the result, the line on it, and the path of its document
 * @throws what `io.stop` was aborted with, and UserError where the folder cannot be written
 */
export async function evaluate(work: Work, kept: Kept) {
  const { settings, io, say } = work;
  await keepRecord(kept, {});
  const { name, path: place, stamp, failures, awaited } = kept.record;
  const result: Result = await decided(work, kept).catch((error: unknown) => {
    if (io.stop.aborted || !(error instanceof NotEvaluated)) throw error;
    return { verdict: 'FAILED', reason: error.message, will_retry: failures + 1 < settings.tries } as const;
  });
  const at = Date.now();
  const { verdict } = result;
  if (verdict === 'FAILED') await keepRecord(kept, { failures: failures + 1, failedAt: at });
  const path = join(kept.dir, 'result.json');
  const head = { schema: 'awb.watch-result/1', at: new Date().toISOString(), checkpoint: { name, path: place, stamp } };
  await writeJson(path, { ...head, dir: kept.dir, base: settings.base, ...result });
  const text = `${name}: ${sentenceOf(result)}`;
  // Awaited results are told once for each new file of requests, since somebody has to hand it in.
  if (verdict !== 'AWAITING' || awaited?.requests !== result.batch.requests) {
    const type = verdict === 'FAILED' ? 'failed' : verdict === 'AWAITING' ? 'awaiting' : 'result';
    await say(type, text, { checkpoint: name, verdict, result: path });
    await runOnResult(work, kept, path);
  }
  if (verdict === 'AWAITING') await keepRecord(kept, { awaited: { requests: result.batch.requests, at } });
  else if (verdict !== 'FAILED') await keepRecord(kept, { verdict, finishedAt: new Date().toISOString() });
  return { result, text, name, path };
}

/** Takes the steps that are not done. @throws NotEvaluated */
async function decided(work: Work, kept: Kept): Promise<Result> {
  const { settings, io, say, baseOf } = work;
  const { dir } = kept;
  const { name } = kept.record;
  for (const step of STEPS) {
    if (kept.record.steps[step] !== undefined) continue;
    const began = performance.now();
    const place = { name, dir, ...(step === 'gate' && { base: await baseOf() }) };
    const code = step === 'infer' ? await inferServed(work, kept) : await runStep(step, place, settings, io);
    if (typeof code !== 'number') return { verdict: 'AWAITING', batch: code };
    await keepRecord(kept, { steps: { ...kept.record.steps, [step]: code } });
    const seconds = Math.round((performance.now() - began) / 1000);
    const text = `${name}: ${step} done${code === 0 ? '' : ` (exit code ${code})`} in ${seconds} s`;
    await say('step', text, { checkpoint: name, step, exit_code: code, seconds });
  }
  const gate = await documentOf(dir, 'gate');
  const verdict = VERDICTS.find((known) => known === gate?.verdict);
  if (verdict === undefined) throw new NotEvaluated('awb gate printed no verdict');
  const last_go = await againstLastGo(work, dir);
  const score = await documentOf(dir, 'score');
  const { summary = null, advice = null, comparison } = gate ?? {};
  const exit_code = kept.record.steps.gate ?? 0;
  const decision = {
    verdict,
    exit_code,
    summary,
    advice,
    score: score ? { overall: score.overall ?? null, coverage: score.coverage ?? null } : null,
  };
  return { ...decision, difference: totalOf(comparison), last_go };
}

async function inferServed({ settings, io, say, outputDir }: Work, { dir, record }: Kept) {
  const { name } = record;
  await say('serving', `${name}: its server is started`, { checkpoint: name });
  const files = { log: join(dir, 'server.log'), pidFile: join(outputDir, '.server.pid') };
  const server = await startServer(record, files, settings, io);
  try {
    return await runStep('infer', { name, dir, server }, settings, io, server.lost);
  } finally {
    await server.stop();
  }
}

/** Held against the last checkpoint that passed: for information, since a chain of small losses passes each such step. */
async function againstLastGo({ settings, io, outputDir }: Work, dir: string) {
  let last: { readonly name: string; readonly dir: string; readonly at: string } | undefined;
  for (const entry of await readdir(outputDir)) {
    const own = join(outputDir, entry);
    const record = own === dir ? undefined : await recordIn(own).catch(() => undefined);
    const { name = '', verdict, finishedAt: at = '' } = record ?? {};
    if (verdict === 'GO' && at > (last?.at ?? '')) last = { name, dir: own, at };
  }
  if (last === undefined) return null;
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

function sentenceOf(result: Result): string {
  if (result.verdict === 'FAILED') {
    const next = result.will_retry ? 'it is tried again' : 'it is left until it changes';
    return `not evaluated: ${result.reason}; ${next}`;
  }
  if (result.verdict === 'AWAITING') {
    const { awaited, requests, dir } = result.batch;
    return `AWAITING: ${grouped(awaited)} of ${counted(requests, 'result')} of its judge are awaited in ${dir}`;
  }
  const { verdict, last_go: lastGo } = result;
  const { difference } = lastGo?.difference ?? {};
  const besides =
    lastGo === null || typeof difference !== 'number'
      ? ''
      : ` (${difference < 0 ? '' : '+'}${difference.toFixed(2)} against the last GO, ${lastGo.name})`;
  const summary = String(result.summary ?? '');
  return `${summary.startsWith(`${verdict}: `) ? summary : `${verdict}: ${summary}`}${besides}`;
}

/** Of a comparison, the difference of the overall total with its interval. */
function totalOf(comparison: unknown): JsonObject | null {
  const { total } = asObject(asObject(comparison).overall);
  if (!isObject(total)) return null;
  const { difference, low, high, base, candidate } = total;
  return { difference, low, high, base, candidate };
}

/**
 * Runs `--on-result` with the document on its standard input. Whatever comes of it, the watch goes on.
 * @throws what `io.stop` was aborted with, where that has cut it off: the result counts as not told
 */
async function runOnResult(work: Work, { dir, record }: Kept, path: string): Promise<void> {
  const { settings, io, say } = work;
  if (settings.onResult.length === 0) return;
  const { name } = record;
  const words = filled(wordsOf(settings.onResult, '--on-result'), { result: path, checkpoint: record.path, name });
  const log = join(dir, 'on-result.log');
  const env = { ...givenEnv(io.env, settings.passEnv), AWB_WATCH_RESULT: path };
  const command = { words, env, cwd: io.cwd, log, input: await readFile(path, 'utf8'), graceMs: COMMAND_GRACE_MS };
  const ending = AbortSignal.any([io.stop, AbortSignal.timeout(LONGEST_COMMAND_MS)]);
  const { code, signal, fault } = await startGuarded(command, ending).ended;
  if (code === 0) return;
  io.stop.throwIfAborted();
  const how = fault ?? (signal === null ? `exit code ${code}` : signal);
  await say('command', `${name}: --on-result failed (${how})${await tailOf(log)}`, { checkpoint: name });
}

const BIN = fileURLToPath(new URL('bin.js', PROGRAM));
/** A step that is asked to end lets its calls end, and saves. */
const STEP_GRACE_MS = 30_000;
const LOCKED_TRIES = 5;
const LOCKED_WAIT_MS = 3_000;

/** The secrets of each step. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  infer: ['AWB_MODEL_API_KEY'],
  judge: ['AWB_JUDGE_API_KEY', 'OPENAI_API_KEY', 'HF_TOKEN'],
};
/** Exit codes with which a step has done its work; whatever else it ends with says nothing of the checkpoint. */
const WORKED: readonly number[] = [EXIT.done, EXIT.incomplete];
const DECIDED: readonly number[] = [...WORKED, EXIT.noGo, EXIT.inconclusive];

/** Batch files whose results have not all come; the folder is absolute. */
interface AwaitedBatch {
  readonly dir: string;
  readonly requests: number;
  readonly awaited: number;
}

/** A step ends with 75 for a budget that is spent as well. */
function awaitedIn({ batch, state }: JsonObject = {}): AwaitedBatch | undefined {
  const { dir, parts, awaited } = asObject(batch);
  if (state !== 'awaiting' || !Array.isArray(parts)) return undefined;
  const requests = parts.reduce((sum: number, part) => sum + Number(asObject(part).requests ?? 0), 0);
  return { dir: String(dir), requests, awaited: Number(awaited) };
}

/** Where a checkpoint's run lies, and who answers for it. */
interface StepPlace {
  readonly name: string;
  readonly dir: string;
  /** What the gate calls the base; as it was given where this is absent. */
  readonly base?: string;
  /** Absent where infer is done. */
  readonly server?: { readonly url: string; readonly model: string };
}

/** The arguments of a step: everything that the watch does not decide stands in the configuration file. */
export function argumentsOf(step: Step, place: StepPlace, settings: WatchSettings): string[] {
  const { name, dir, base = settings.base } = place;
  const { db } = settings;
  // No server is there yet where the arguments are only looked at.
  const { url, model } = place.server ?? { url: endpointAt(settings.endpoint, settings.port ?? 8000), model: 'NAME' };
  const judged = join(dir, 'judged.jsonl');
  const batch = settings.judgeBatch ? ['--batch-dir', join(dir, 'batch')] : [];
  const own: Readonly<Record<Step, readonly string[]>> = {
    infer: ['--output-dir', dir, `--label=${name}`, '--model-base-url', url, `--model-name=${model}`],
    judge: ['--predictions', join(dir, 'predictions.jsonl'), '--output-dir', dir, ...batch],
    score: ['--predictions', judged, '--db', db, `--label=${name}`],
    gate: [`--base=${base}`, `--candidate=${judged}`, '--db', db],
  };
  return [step, '--config', settings.config, ...own[step]];
}

/**
 * Runs a step to its end.
 * @returns its exit code, or the batch files whose answers it awaits; the document that it printed lies in the folder (`documentOf`)
 * @throws NotEvaluated where it could not do its work; the reason of `lost` once that is aborted
 */
async function runStep(
  step: Step,
  place: StepPlace,
  settings: WatchSettings,
  io: Io,
  lost?: AbortSignal,
): Promise<number | AwaitedBatch> {
  const run = () => runAwb(step, argumentsOf(step, place, settings), place.dir, io, lost);
  let code = await run();
  // The step of a watch that was killed may still save what it had, and holds the folder until then.
  for (let tries = 0; code === EXIT.cannotCreate && tries < LOCKED_TRIES; tries++) {
    await wait(LOCKED_WAIT_MS, undefined, { signal: io.stop }).catch(() => undefined);
    code = await run();
  }
  if ((step === 'gate' ? DECIDED : WORKED).includes(code)) return code;
  const batch = code === EXIT.later ? awaitedIn(await documentOf(place.dir, step)) : undefined;
  if (batch !== undefined) return batch;
  throw new NotEvaluated(`awb ${step} ended with exit code ${code}${await tailOf(join(place.dir, 'steps.log'))}`);
}

/** Runs this program; what it prints goes to `<name>.json` in the folder, and what it says to steps.log. */
async function runAwb(
  name: string,
  args: readonly string[],
  dir: string,
  { env, cwd, stop }: Io,
  lost?: AbortSignal,
): Promise<number> {
  const output = join(dir, `${name}.json`);
  const errors = join(dir, 'steps.log');
  const words = [process.execPath, BIN, ...args, '--json', '--no-color'];
  const given = stepEnv(env, KEYS[name] ?? []);
  const ending = lost === undefined ? stop : AbortSignal.any([stop, lost]);
  const command = { words, env: given, cwd, output, log: errors, graceMs: STEP_GRACE_MS };
  const { code, signal, fault } = await startGuarded(command, ending).ended;
  if (code !== EXIT.done) lost?.throwIfAborted();
  stop.throwIfAborted();
  if (code === null) throw new NotEvaluated(`awb ${name} was ended (${fault ?? signal})${await tailOf(errors)}`);
  return code;
}

/** The JSON document that a step has printed; undefined where it printed none. */
async function documentOf(dir: string, name: string): Promise<JsonObject | undefined> {
  return parseObject(await readFile(join(dir, `${name}.json`), 'utf8').catch(() => ''));
}
