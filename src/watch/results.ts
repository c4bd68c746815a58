// What came of a checkpoint: a document beside its run, and the command that is told of it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, type JsonObject } from '../json.js';
import { writeJson } from '../run/files.js';
import type { Io } from '../types.js';
import { givenEnv, startGuarded } from './guarded.js';
import type { WatchLog } from './log.js';
import type { WatchSettings } from './options.js';
import type { Kept } from './records.js';
import { tailOf } from './server.js';
import { filled, wordsOf } from './words.js';

const LONGEST_COMMAND_MS = 10 * 60_000;
const GRACE_MS = 5_000;

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

/** Batch files whose results have not all come. */
export interface AwaitedBatch {
  /** Absolute. */
  readonly dir: string;
  readonly requests: number;
  readonly awaited: number;
}

/** Writes the document. @throws UserError (74) where it cannot be written */
export async function writeResult({ dir, record }: Kept, outcome: Outcome, settings: WatchSettings): Promise<string> {
  const path = join(dir, 'result.json');
  const { name, path: place, stamp } = record;
  const head = { schema: 'awb.watch-result/1', at: new Date().toISOString(), checkpoint: { name, path: place, stamp } };
  await writeJson(path, { ...head, dir, base: settings.base, ...documentOf(outcome) });
  return path;
}

function documentOf(outcome: Outcome): object {
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
export function totalOf(comparison: unknown): JsonObject | null {
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
export async function tellResult(path: string, { dir, record }: Kept, settings: WatchSettings, io: Io, log: WatchLog) {
  if (settings.onResult.length === 0) return;
  const values = { result: path, checkpoint: record.path, name: record.name };
  const words = filled(wordsOf(settings.onResult, '--on-result'), values);
  const output = join(dir, 'on-result.log');
  const env = { ...givenEnv(io.env, settings.passEnv), AWB_WATCH_RESULT: path };
  const input = await readFile(path, 'utf8');
  const command = startGuarded({ words, env, cwd: io.cwd, log: output, input, graceMs: GRACE_MS });
  const end = () => command.end();
  const timer = setTimeout(end, LONGEST_COMMAND_MS);
  io.stop.addEventListener('abort', end, { once: true });
  if (io.stop.aborted) end();
  const { code, signal, fault } = await command.ended;
  clearTimeout(timer);
  io.stop.removeEventListener('abort', end);
  if (code === 0) return;
  io.stop.throwIfAborted();
  const how = fault ?? (signal === null ? `exit code ${code}` : signal);
  await log.say('command', `${record.name}: --on-result failed (${how})${await tailOf(output)}`, {
    checkpoint: record.name,
  });
}
