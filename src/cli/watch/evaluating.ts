// One checkpoint from its server to its verdict: the steps, the document beside its run, and the command that is told of it. What is done
// is kept, so that a watch that was killed goes on where it was.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counted, grouped } from '../../core/figures.js';
import { isObject, type JsonObject } from '../../core/json.js';
import type { Io } from '../../core/types.js';
import { writeJson } from '../../disk/files.js';
import { type Kept, keepRecord, recordIn, STEPS } from './checkpoints.js';
import { filled, givenEnv, startGuarded, tailOf, wordsOf } from './commands.js';
import type { WatchLog } from './log.js';
import type { FixedBase, WatchSettings } from './options.js';
import { NotEvaluated, startServer } from './server.js';
import { type AwaitedBatch, documentOf, runAwb, runStep } from './steps.js';

const LONGEST_COMMAND_MS = 10 * 60_000;
const GRACE_MS = 5_000;

export interface Work {
  readonly settings: WatchSettings;
  readonly io: Io;
  readonly log: WatchLog;
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
      readonly score: { readonly overall: unknown; readonly coverage: unknown } | null;
      /** To the base. */
      readonly difference: JsonObject | null;
      /** Against the last checkpoint that passed, for information. */
      readonly last_go: { readonly name: string; readonly difference: JsonObject | null } | null;
    }
  | { readonly verdict: 'AWAITING'; readonly batch: AwaitedBatch }
  | { readonly verdict: 'FAILED'; readonly reason: string; readonly will_retry: boolean };

/** A result, the line on it, and the path of its document. */
export interface Told {
  readonly result: Result;
  readonly text: string;
  readonly name: string;
  readonly path: string;
}

/**
 * Evaluates a checkpoint as far as it is not, writes its result and tells it.
 * @throws what `io.stop` was aborted with, and UserError where the folder cannot be written
 */
export async function evaluate(work: Work, kept: Kept): Promise<Told> {
  const { settings, io, log } = work;
  await keepRecord(kept, {});
  const { name, path: place, stamp, failures, awaited } = kept.record;
  const result = await decided(work, kept).catch((error: unknown) => {
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
    await log.say(type, text, { checkpoint: name, verdict, result: path });
    await runOnResult(work, kept, path);
  }
  if (verdict === 'AWAITING') await keepRecord(kept, { awaited: { requests: result.batch.requests, at } });
  else if (verdict !== 'FAILED') await keepRecord(kept, { verdict, finishedAt: new Date().toISOString() });
  return { result, text, name, path };
}

/** Takes the steps that are not done. @throws NotEvaluated */
async function decided(work: Work, kept: Kept): Promise<Result> {
  const { settings, io, log, baseOf } = work;
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
    await log.say('step', text, { checkpoint: name, step, exit_code: code, seconds });
  }
  const gate = await documentOf(dir, 'gate');
  const verdict = VERDICTS.find((known) => known === gate?.verdict);
  if (verdict === undefined) throw new NotEvaluated('awb gate printed no verdict');
  const last_go = await againstLastGo(work, dir);
  const score = await documentOf(dir, 'score');
  return {
    ...{ verdict, exit_code: kept.record.steps.gate ?? 0 },
    ...{ summary: gate?.summary ?? null, advice: gate?.advice ?? null },
    score: score === undefined ? null : { overall: score.overall ?? null, coverage: score.coverage ?? null },
    difference: totalOf(gate?.comparison),
    last_go,
  };
}

async function inferServed({ settings, io, log, outputDir }: Work, { dir, record }: Kept) {
  await log.say('serving', `${record.name}: its server is started`, { checkpoint: record.name });
  const server = await startServer(
    record,
    { log: join(dir, 'server.log'), pidFile: join(outputDir, '.server.pid') },
    settings,
    io,
  );
  try {
    const { url, model } = server;
    return await runStep('infer', { name: record.name, dir, server: { url, model } }, settings, io, server.lost);
  } finally {
    await server.stop();
  }
}

/** Held against the last checkpoint that passed: for information, since a chain of small losses passes each such step. */
async function againstLastGo({ settings, io, outputDir }: Work, dir: string) {
  const last = await lastGoIn(outputDir, dir);
  if (last === undefined) return null;
  const runs = [`--base=${join(last.dir, 'judged.jsonl')}`, `--candidate=${join(dir, 'judged.jsonl')}`];
  try {
    await runAwb('last-go', ['compare', '--config', settings.config, ...runs, '--db', settings.db], dir, io);
  } catch (error) {
    if (error instanceof NotEvaluated) return { name: last.name, difference: null };
    throw error;
  }
  return { name: last.name, difference: totalOf(await documentOf(dir, 'last-go')) };
}

async function lastGoIn(outputDir: string, but: string) {
  let last: { readonly name: string; readonly dir: string; readonly at: string } | undefined;
  for (const entry of await readdir(outputDir)) {
    const dir = join(outputDir, entry);
    const record = dir === but ? undefined : await recordIn(dir).catch(() => undefined);
    const { verdict, finishedAt: at = '' } = record ?? {};
    if (record !== undefined && verdict === 'GO' && at > (last?.at ?? '')) last = { name: record.name, dir, at };
  }
  return last;
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
  const overall = isObject(comparison) ? comparison.overall : undefined;
  const total = isObject(overall) ? overall.total : undefined;
  if (!isObject(total)) return null;
  const { difference, low, high, base, candidate } = total;
  return { difference, low, high, base, candidate };
}

/**
 * Runs `--on-result` with the document on its standard input. Whatever comes of it, the watch goes on.
 * @throws what `io.stop` was aborted with, where that has cut it off: the result counts as not told
 */
async function runOnResult(work: Work, { dir, record }: Kept, path: string): Promise<void> {
  const { settings, io } = work;
  if (settings.onResult.length === 0) return;
  const values = { result: path, checkpoint: record.path, name: record.name };
  const words = filled(wordsOf(settings.onResult, '--on-result'), values);
  const log = join(dir, 'on-result.log');
  const env = { ...givenEnv(io.env, settings.passEnv), AWB_WATCH_RESULT: path };
  const input = await readFile(path, 'utf8');
  const ending = AbortSignal.any([io.stop, AbortSignal.timeout(LONGEST_COMMAND_MS)]);
  const { code, signal, fault } = await startGuarded({ words, env, cwd: io.cwd, log, input, graceMs: GRACE_MS }, ending)
    .ended;
  if (code === 0) return;
  io.stop.throwIfAborted();
  const how = fault ?? (signal === null ? `exit code ${code}` : signal);
  await work.log.say('command', `${record.name}: --on-result failed (${how})${await tailOf(log)}`, {
    checkpoint: record.name,
  });
}
