// A judge mode, opened as the flags say: what they cannot say together, its rubrics and prompts, and the form of replies.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join, resolve } from 'node:path';
import { officialRubrics } from '../benchmark/hub/official-rubrics.js';
import { loadAgentPrompts, loadJudgePrompt } from '../benchmark/prompts.js';
import { loadRubricPack } from '../benchmark/rubric-pack.js';
import { inputMissing, present, UserError } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { proxiedDownloads } from '../model/http/wire.js';
import { requireBatchFlags, requireNoBatch } from '../run/batch/options.js';
import { madeWith } from '../run/made-with.js';
import { readManifest } from '../run/manifest.js';
import type { AskingSettings } from '../run/options.js';
import type { Given, Method, Mode } from './mode.js';
import type { JudgeSettings } from './options.js';

/** What the settings of judge and calibrate say of a mode. */
type InstrumentSettings = Pick<JudgeSettings, 'rubrics' | 'verdicts' | 'verdictSchema'> &
  Pick<AskingSettings, 'local' | 'extraBody' | 'quiet'>;

/**
 * The mode of a judging.
 * @param files the predictions, and those of --reference
 * @throws UserError (2) for flags that go against one another; what opening rubrics and prompts throws
 */
export async function openJudging(
  mode: Mode,
  settings: JudgeSettings,
  files: { readonly predictions: string; readonly reference: string | undefined },
  io: Io,
): Promise<Method> {
  const { domainPrompts, judgeSees } = settings;
  const { predictions, reference } = files;
  const comparesFiles = mode.beside === 'prediction';
  const name = `--mode ${settings.mode}`;
  requireNone([
    [
      !comparesFiles && reference !== undefined,
      `--reference belongs to --mode reference, and ${name} has no use for it; leave one out`,
    ],
    [
      comparesFiles && reference === predictions,
      '--reference names the very file of --predictions; name the predictions of another world model',
    ],
    [
      judgeSees !== 'history' && !mode.judgesWithoutTruth,
      `--judge-sees rollout shows a judge no truth, and ${name} needs one; leave --judge-sees out, or take --mode rubric`,
    ],
    [
      domainPrompts !== undefined && mode.asksAgent !== true,
      `--domain-prompts says how an agent acts, and ${name} asks none; leave it out, or give --mode decision`,
    ],
  ]);
  return openMode(mode, settings, io, {
    sees: judgeSees,
    prompt: loadJudgePrompt,
    // A folder of the user's prompts keeps those of agents in a folder of its own.
    agentPrompts: () =>
      loadAgentPrompts(domainPrompts === undefined ? undefined : join(resolve(io.cwd, domainPrompts), 'agent')),
    reference: () => referenceIdentity(present(reference)),
  });
}

/** @throws UserError (2) for the first of these that is so. */
function requireNone(faults: readonly (readonly [isSo: boolean, sentence: string])[]): void {
  const [, sentence] = faults.find(([isSo]) => isSo) ?? [];
  if (sentence !== undefined) throw new UserError(sentence);
}

/** @throws UserError (2) for --verdict-schema where it has no use; what opening rubrics throws */
export async function openMode(
  mode: Mode,
  settings: InstrumentSettings,
  io: Io,
  more: Partial<Given> = {},
): Promise<Method> {
  const { verdicts, verdictSchema, local, extraBody, quiet } = settings;
  // The official pack is fetched when it is wanted.
  const onFetch = (text: string) => void (quiet || io.stderr.write(`${text}\n`));
  const official = () =>
    officialRubrics({ env: io.env, fetch: proxiedDownloads(io.env).fetch, signal: io.stop, onFetch });
  const method = await mode.open({
    verdicts,
    // A judge that is served here is always held to the form.
    holdsReplies: verdictSchema || local !== undefined,
    rubrics: () => loadRubricPack(settings.rubrics, { cwd: io.cwd, official }),
    ...more,
  });
  requireNone([
    [
      verdictSchema && method.replyForm === undefined,
      `--verdict-schema holds verdicts to a JSON schema, and what is judged by (${method.name}) takes none; do without it, or name another pack with --rubrics`,
    ],
    [
      verdictSchema && extraBody !== undefined && 'response_format' in extraBody,
      '--verdict-schema and response_format in --extra-body are two forms of one reply; give one of them',
    ],
  ]);
  return method;
}

/** @throws UserError (2) where predictions shall be measured several times or by files, and nobody is asked: the numbers would be the same */
export function requireJudge({ asksJudge }: Mode, settings: JudgeSettings): void {
  const { mode, judgeRepeats } = settings;
  requireBatchFlags(settings);
  if (asksJudge) return;
  requireNoBatch(settings, `--mode ${mode}`, 'it asks nobody');
  if (judgeRepeats === 1) return;
  throw new UserError(
    `--judge-repeats has a judge asked ${judgeRepeats} times, and --mode ${mode} asks none; what it measures is the same each time`,
  );
}

/** As much of a fingerprint as tells runs apart that began at the same time. */
const SHORT = 12;

/**
 * What a predictions file is known by, wherever it lies and however often it is continued: the run that made it, and when that began.
 * One without a manifest is known by its bytes. In words, since tables show it. @throws UserError (66) where it cannot be read.
 */
async function referenceIdentity(path: string): Promise<string> {
  const beside = await readManifest(path.replace(/\.jsonl$/, '.manifest.json'));
  const manifest = beside?.kind === 'judge' ? beside.predictions : beside;
  if (manifest?.startedAt !== undefined) {
    const { worldModel = 'predictions' } = madeWith({ predictions: manifest });
    return `${worldModel}, begun ${manifest.startedAt}, run ${manifest.fingerprint.slice(0, SHORT)}`;
  }
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch {
    throw inputMissing(`cannot read ${path}; --reference names the predictions.jsonl of another world model`);
  }
  return `sha256 ${hash.digest('hex')}`;
}
