// One checkpoint from its server to its verdict. What is done is kept, so that a watch that was killed goes on where it was.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { counted, grouped } from '../figures.js';
import type { JsonObject } from '../json.js';
import type { Io } from '../types.js';
import type { WatchLog } from './log.js';
import type { FixedBase, WatchSettings } from './options.js';
import { type CheckpointRecord, type Kept, keepRecord, recordIn, STEPS, type Step } from './records.js';
import { type AwaitedBatch, type Outcome, tellResult, totalOf, writeResult } from './results.js';
import { NotEvaluated, startServer } from './server.js';
import { Awaiting, documentOf, runAwb, runStep } from './steps.js';

export interface Work {
  readonly settings: WatchSettings;
  readonly io: Io;
  readonly log: WatchLog;
  readonly baseOf: FixedBase;
  /** Absolute. */
  readonly outputDir: string;
}

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
  const { io, log, settings } = work;
  const { name } = found.record;
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
    if (io.stop.aborted) throw error;
    if (error instanceof Awaiting) return await tellAwaited(work, kept, error.batch);
    if (!(error instanceof NotEvaluated)) throw error;
    const failures = kept.record.failures + 1;
    outcome = { verdict: 'FAILED', reason: error.message, willRetry: failures < settings.tries };
    await keep({ failures, failedAt: Date.now() });
  }
  const path = await writeResult(kept, outcome, settings);
  const text = `${name}: ${sentenceOf(outcome)}`;
  await log.say(outcome.verdict === 'FAILED' ? 'failed' : 'result', text, {
    checkpoint: name,
    verdict: outcome.verdict,
    result: path,
  });
  await tellResult(path, kept, settings, io, log);
  if (outcome.verdict !== 'FAILED') await keep({ verdict: outcome.verdict, finishedAt: new Date().toISOString() });
  return { outcome, text, name, path };
}

/** Told once for each new file of requests, since somebody has to hand it in; between them only its document is kept up. */
async function tellAwaited(work: Work, { dir, record }: Kept, batch: AwaitedBatch): Promise<Told> {
  const { settings, io, log } = work;
  const outcome: Outcome = { verdict: 'AWAITING', batch };
  const now = { dir, record: { ...record, awaited: { requests: batch.requests, at: Date.now() } } };
  const path = await writeResult(now, outcome, settings);
  const { name } = record;
  const text = `${name}: ${sentenceOf(outcome)}`;
  if (record.awaited?.requests !== batch.requests) {
    await log.say('awaiting', text, { checkpoint: name, verdict: outcome.verdict, result: path });
    await tellResult(path, now, settings, io, log);
  }
  await keepRecord(now);
  return { outcome, text, name, path };
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
