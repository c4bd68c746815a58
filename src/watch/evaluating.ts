// One checkpoint from its server to its verdict: the steps, the document beside its run, and the command that is told of it. What is done
// is kept, so that a watch that was killed goes on where it was.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counted, grouped } from '../figures.js';
import { isObject, type JsonObject } from '../json.js';
import { writeJson } from '../run/files.js';
import type { Io } from '../types.js';
import { type CheckpointRecord, type Kept, keepRecord, recordIn, STEPS, type Step } from './checkpoints.js';
import { filled, givenEnv, startGuarded, tailOf, wordsOf } from './commands.js';
import type { WatchLog } from './log.js';
import type { FixedBase, WatchSettings } from './options.js';
import { NotEvaluated, startServer } from './server.js';
import { type AwaitedBatch, Awaiting, documentOf, runAwb, runStep } from './steps.js';

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

/** A decision, or why there is none. */
export type Outcome =
  | {
      readonly verdict: 'GO' | 'NO-GO' | 'INCONCLUSIVE' | 'INCOMPLETE' | 'ADVICE';
      readonly exitCode: number;
      readonly gate: JsonObject | undefined;
      readonly score: JsonObject | undefined;
      /** Against the last checkpoint that passed, for information. */
      readonly lastGo?: { readonly name: string; readonly comparison: JsonObject | undefined };
    }
  | { readonly verdict: 'AWAITING'; readonly batch: AwaitedBatch }
  | { readonly verdict: 'FAILED'; readonly reason: string; readonly willRetry: boolean };

/** A result, the line on it, and the path of its document. */
export interface Told {
  readonly outcome: Outcome;
  readonly text: string;
  readonly name: string;
  readonly path: string;
}

/**
 * Evaluates a checkpoint as far as it is not, writes its result and tells it.
 * @throws what `io.stop` was aborted with, and UserError where the folder cannot be written
 */
export async function evaluate(work: Work, found: Kept): Promise<Told> {
  let kept = found;
  const keep = async (more: Partial<CheckpointRecord>) => {
    kept = { dir: kept.dir, record: { ...kept.record, ...more } };
    await keepRecord(kept);
  };
  await keep({});
  let outcome: Outcome;
  try {
    outcome = await decided(work, () => kept, keep);
  } catch (error) {
    if (work.io.stop.aborted) throw error;
    outcome = outcomeOf(error, kept, work.settings);
  }
  const at = Date.now();
  if (outcome.verdict === 'FAILED') await keep({ failures: kept.record.failures + 1, failedAt: at });
  const path = await writeResult(kept, outcome, work.settings);
  const { name, awaited } = kept.record;
  const text = `${name}: ${sentenceOf(outcome)}`;
  const { verdict } = outcome;
  // Awaited results are told once for each new file of requests, since somebody has to hand it in.
  if (outcome.verdict !== 'AWAITING' || awaited?.requests !== outcome.batch.requests) {
    const type = verdict === 'FAILED' ? 'failed' : verdict === 'AWAITING' ? 'awaiting' : 'result';
    await work.log.say(type, text, { checkpoint: name, verdict, result: path });
    await runOnResult(work, kept, path);
  }
  if (outcome.verdict === 'AWAITING') await keep({ awaited: { requests: outcome.batch.requests, at } });
  else if (outcome.verdict !== 'FAILED') await keep({ verdict, finishedAt: new Date().toISOString() });
  return { outcome, text, name, path };
}

function outcomeOf(error: unknown, { record }: Kept, { tries }: WatchSettings): Outcome {
  if (error instanceof Awaiting) return { verdict: 'AWAITING', batch: error.batch };
  if (!(error instanceof NotEvaluated)) throw error;
  return { verdict: 'FAILED', reason: error.message, willRetry: record.failures + 1 < tries };
}

async function decided(
  work: Work,
  kept: () => Kept,
  keep: (more: Partial<CheckpointRecord>) => Promise<void>,
): Promise<Outcome> {
  const { settings, io, log, baseOf } = work;
  const { dir, record } = kept();
  const { name } = record;
  const codes: Partial<Record<Step, number>> = {};
  for (const step of STEPS) {
    const before = kept().record.steps[step];
    if (before !== undefined) {
      codes[step] = before;
      continue;
    }
    const began = performance.now();
    const place = { name, dir, ...(step === 'gate' && { base: await baseOf() }) };
    const code = step === 'infer' ? await inferServed(work, kept()) : await runStep(step, place, settings, io);
    codes[step] = code;
    await keep({ steps: { ...kept().record.steps, [step]: code } });
    const seconds = Math.round((performance.now() - began) / 1000);
    const text = `${name}: ${step} done${code === 0 ? '' : ` (exit code ${code})`} in ${seconds} s`;
    await log.say('step', text, { checkpoint: name, step, exit_code: code, seconds });
  }
  const gate = await documentOf(dir, 'gate');
  const lastGo = await againstLastGo(work, dir);
  return {
    verdict: verdictOf(gate),
    exitCode: codes.gate ?? 0,
    gate,
    score: await documentOf(dir, 'score'),
    ...(lastGo !== undefined && { lastGo }),
  };
}

async function inferServed({ settings, io, log, outputDir }: Work, { dir, record }: Kept): Promise<number> {
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

const VERDICTS = ['GO', 'NO-GO', 'INCONCLUSIVE', 'INCOMPLETE', 'ADVICE'] as const;

/** @throws NotEvaluated for a document that awb gate did not write */
function verdictOf(gate: JsonObject | undefined): (typeof VERDICTS)[number] {
  const verdict = VERDICTS.find((known) => known === gate?.verdict);
  if (verdict === undefined) throw new NotEvaluated('awb gate printed no verdict');
  return verdict;
}

/** Held against the last checkpoint that passed: for information, since a chain of small losses passes each such step. */
async function againstLastGo({ settings, io, outputDir }: Work, dir: string) {
  const last = await lastGoIn(outputDir, dir);
  if (last === undefined) return undefined;
  const runs = [`--base=${join(last.dir, 'judged.jsonl')}`, `--candidate=${join(dir, 'judged.jsonl')}`];
  try {
    await runAwb('last-go', ['compare', '--config', settings.config, ...runs, '--db', settings.db], dir, io);
  } catch (error) {
    if (error instanceof NotEvaluated) return { name: last.name, comparison: undefined };
    throw error;
  }
  return { name: last.name, comparison: await documentOf(dir, 'last-go') };
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

function sentenceOf(outcome: Outcome): string {
  if (outcome.verdict === 'FAILED') {
    const next = outcome.willRetry ? 'it is tried again' : 'it is left until it changes';
    return `not evaluated: ${outcome.reason}; ${next}`;
  }
  if (outcome.verdict === 'AWAITING') {
    const { awaited, requests, dir } = outcome.batch;
    return `AWAITING: ${grouped(awaited)} of ${counted(requests, 'result')} of its judge are awaited in ${dir}`;
  }
  const { verdict, gate, lastGo } = outcome;
  const { difference } = totalOf(lastGo?.comparison) ?? {};
  const besides =
    lastGo === undefined || typeof difference !== 'number'
      ? ''
      : ` (${difference < 0 ? '' : '+'}${difference.toFixed(2)} against the last GO, ${lastGo.name})`;
  const summary = String(gate?.summary ?? '');
  return `${summary.startsWith(`${verdict}: `) ? summary : `${verdict}: ${summary}`}${besides}`;
}

/** Writes the document. @throws UserError (74) where it cannot be written */
async function writeResult({ dir, record }: Kept, outcome: Outcome, settings: WatchSettings): Promise<string> {
  const path = join(dir, 'result.json');
  const { name, path: place, stamp } = record;
  const head = { schema: 'awb.watch-result/1', at: new Date().toISOString(), checkpoint: { name, path: place, stamp } };
  await writeJson(path, { ...head, dir, base: settings.base, ...membersOf(outcome) });
  return path;
}

function membersOf(outcome: Outcome): object {
  if (outcome.verdict === 'FAILED') {
    return { verdict: outcome.verdict, reason: outcome.reason, will_retry: outcome.willRetry };
  }
  if (outcome.verdict === 'AWAITING') return { verdict: outcome.verdict, batch: outcome.batch };
  const { verdict, exitCode, gate, score, lastGo } = outcome;
  return {
    ...{ verdict, exit_code: exitCode, summary: gate?.summary ?? null, advice: gate?.advice ?? null },
    score: score === undefined ? null : { overall: score.overall ?? null, coverage: score.coverage ?? null },
    difference: totalOf(gate?.comparison),
    last_go: lastGo === undefined ? null : { name: lastGo.name, difference: totalOf(lastGo.comparison) },
  };
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
