// The steps of an evaluation as command lines of this program, each a process of its own.

import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../core/errors.js';
import { isObject, type JsonObject, parseObject } from '../../core/json.js';
import type { Io } from '../../core/types.js';
import type { Step } from './checkpoints.js';
import { endpointAt, PROGRAM, startGuarded, stepEnv, tailOf } from './commands.js';
import type { WatchSettings } from './options.js';
import { NotEvaluated } from './server.js';

const BIN = fileURLToPath(new URL('bin.js', PROGRAM));
/** A step that is asked to end lets its calls end, and saves. */
const GRACE_MS = 30_000;
const LOCKED_TRIES = 5;
const LOCKED_WAIT_MS = 3_000;

/** The secrets of each step. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  infer: ['AWB_MODEL_API_KEY'],
  judge: ['AWB_JUDGE_API_KEY', 'OPENAI_API_KEY', 'HF_TOKEN'],
};
/** Exit codes with which a step has done its work; whatever else it ends with says nothing of the checkpoint. */
const WORKED: Readonly<Record<Step, readonly number[]>> = {
  infer: [EXIT.done, EXIT.incomplete],
  judge: [EXIT.done, EXIT.incomplete],
  score: [EXIT.done, EXIT.incomplete],
  gate: [EXIT.done, EXIT.noGo, EXIT.inconclusive, EXIT.incomplete],
};

/** Batch files whose results have not all come. */
export interface AwaitedBatch {
  /** Absolute. */
  readonly dir: string;
  readonly requests: number;
  readonly awaited: number;
}

/** A step ends with 75 for a budget that is spent as well. */
function awaitedIn(document: JsonObject | undefined): AwaitedBatch | undefined {
  const batch = document?.batch;
  if (document?.state !== 'awaiting' || !isObject(batch) || !Array.isArray(batch.parts)) return undefined;
  const requests = batch.parts.reduce((sum: number, part) => sum + (isObject(part) ? Number(part.requests) : 0), 0);
  return { dir: String(batch.dir), requests, awaited: Number(batch.awaited) };
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
  const { name, dir, server, base = settings.base } = place;
  const { config, db } = settings;
  const judged = join(dir, 'judged.jsonl');
  const common = ['--config', config];
  switch (step) {
    case 'infer':
      return [
        ...['infer', ...common, '--output-dir', dir, `--label=${name}`],
        // No server is there yet where the arguments are only looked at.
        ...['--model-base-url', server?.url ?? endpointAt(settings.endpoint, settings.port ?? 8000)],
        `--model-name=${server?.model ?? 'NAME'}`,
      ];
    case 'judge':
      return [
        ...['judge', ...common, '--predictions', join(dir, 'predictions.jsonl'), '--output-dir', dir],
        ...(settings.judgeBatch ? ['--batch-dir', join(dir, 'batch')] : []),
      ];
    case 'score':
      return ['score', ...common, '--predictions', judged, '--db', db, `--label=${name}`];
    case 'gate':
      return ['gate', ...common, `--base=${base}`, `--candidate=${judged}`, '--db', db];
    default:
      return step satisfies never;
  }
}

/**
 * Runs a step to its end.
 * @returns its exit code, or the batch files whose answers it awaits; the document that it printed lies in the folder (`documentOf`)
 * @throws NotEvaluated where it could not do its work; the reason of `lost` once that is aborted
 */
export async function runStep(
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
  if (WORKED[step].includes(code)) return code;
  const batch = code === EXIT.later ? awaitedIn(await documentOf(place.dir, step)) : undefined;
  if (batch !== undefined) return batch;
  throw new NotEvaluated(`awb ${step} ended with exit code ${code}${await tailOf(join(place.dir, 'steps.log'))}`);
}

/** Runs this program; what it prints goes to `<name>.json` in the folder, and what it says to steps.log. */
export async function runAwb(
  name: string,
  args: readonly string[],
  dir: string,
  { env, cwd, stop }: Io,
  lost?: AbortSignal,
): Promise<number> {
  const output = join(dir, `${name}.json`);
  await truncate(output).catch(() => undefined);
  const errors = join(dir, 'steps.log');
  const words = [process.execPath, BIN, ...args, '--json', '--no-color'];
  const given = stepEnv(env, KEYS[name] ?? []);
  const ending = lost === undefined ? stop : AbortSignal.any([stop, lost]);
  const command = { words, env: given, cwd, output, log: errors, graceMs: GRACE_MS };
  const { code, signal, fault } = await startGuarded(command, ending).ended;
  if (code !== EXIT.done) lost?.throwIfAborted();
  stop.throwIfAborted();
  if (code === null) throw new NotEvaluated(`awb ${name} was ended (${fault ?? signal})${await tailOf(errors)}`);
  return code;
}

/** The JSON document that a step has printed; undefined where it printed none. */
export async function documentOf(dir: string, name: string): Promise<JsonObject | undefined> {
  return parseObject(await readFile(join(dir, `${name}.json`), 'utf8').catch(() => ''));
}
