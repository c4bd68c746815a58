// A judge mode, opened as the flags say: what they cannot say together, its rubrics and prompts, and the form of replies.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join, resolve } from 'node:path';
import { officialRubrics } from '../benchmark/hub/official-rubrics.js';
import { type DomainPrompts, loadAgentPrompts, loadJudgePrompt } from '../benchmark/prompts.js';
import { loadRubricPack } from '../benchmark/rubric-pack.js';
import { EXIT, UserError } from '../core/errors.js';
import { present } from '../core/present.js';
import type { RubricPack } from '../core/rubric.js';
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
  requireReference(mode, settings.mode, files.predictions, files.reference);
  requireSight(mode, settings);
  return openMode(mode, settings, io, {
    sees: settings.judgeSees,
    prompt: loadJudgePrompt,
    agentPrompts: agentPromptsFor(mode, settings, io.cwd),
    reference: () => referenceIdentity(files.reference),
  });
}

/** @throws UserError (2) for --verdict-schema where it has no use; what opening rubrics throws */
export async function openMode(
  mode: Mode,
  settings: InstrumentSettings,
  io: Io,
  more: Partial<Given> = {},
): Promise<Method> {
  const { verdicts, verdictSchema, local } = settings;
  // A judge that is served here is always held to the form.
  const holdsReplies = verdictSchema || local !== undefined;
  const method = await mode.open({ verdicts, holdsReplies, rubrics: rubricsOf(settings, io), ...more });
  requireForm(settings, method);
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

/** @throws UserError (2) where --reference is given to a mode that has no use for it, or names the predictions themselves. */
function requireReference({ beside }: Mode, mode: string, predictions: string, reference: string | undefined): void {
  if (beside !== 'prediction' && reference !== undefined) {
    throw new UserError(`--reference belongs to --mode reference, and --mode ${mode} has no use for it; leave one out`);
  }
  if (beside === 'prediction' && reference === predictions) {
    throw new UserError(
      '--reference names the very file of --predictions; name the predictions of another world model',
    );
  }
}

/** As much of a fingerprint as tells runs apart that began at the same time. */
const SHORT = 12;

/**
 * What a predictions file is known by, wherever it lies and however often it is continued: the run that made it, and when that began.
 * One without a manifest is known by its bytes. In words, since tables show it. @throws UserError (66) where it cannot be read.
 */
async function referenceIdentity(named: string | undefined): Promise<string> {
  const path = present(named);
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
    throw new UserError(
      `cannot read ${path}; --reference names the predictions.jsonl of another world model`,
      EXIT.inputMissing,
    );
  }
  return `sha256 ${hash.digest('hex')}`;
}

/** @throws UserError (2) for a mode that needs the truth. */
function requireSight({ judgesWithoutTruth }: Mode, { judgeSees, mode }: JudgeSettings): void {
  if (judgeSees === 'history' || judgesWithoutTruth) return;
  throw new UserError(
    `--judge-sees rollout shows a judge no truth, and --mode ${mode} needs one; leave --judge-sees out, or take --mode rubric`,
  );
}

/** Reads the pack when it is wanted; the official one is fetched then. @throws UserError as `loadRubricPack` and `officialRubrics` */
function rubricsOf({ rubrics, quiet }: InstrumentSettings, io: Io): () => Promise<RubricPack> {
  const { fetch } = proxiedDownloads(io.env);
  const onFetch = (text: string) => void (quiet || io.stderr.write(`${text}\n`));
  const official = () => officialRubrics({ env: io.env, fetch, signal: io.stop, onFetch });
  return () => loadRubricPack(rubrics, { cwd: io.cwd, official });
}

/** Where a folder of the user's prompts keeps those of agents. */
const AGENT = 'agent';

/** Reads them when they are wanted. @throws UserError (2) where --domain-prompts is given to a mode that asks no agent */
function agentPromptsFor(
  { asksAgent }: Mode,
  { mode, domainPrompts }: { readonly mode: string; readonly domainPrompts?: string | undefined },
  cwd: string,
): () => Promise<DomainPrompts> {
  if (domainPrompts !== undefined && asksAgent !== true) {
    throw new UserError(
      `--domain-prompts says how an agent acts, and --mode ${mode} asks none; leave it out, or give --mode decision`,
    );
  }
  return () => loadAgentPrompts(domainPrompts === undefined ? undefined : join(resolve(cwd, domainPrompts), AGENT));
}

/** @throws UserError (2) where --verdict-schema is given, and there is no such form or another one stands in its way. */
function requireForm({ verdictSchema, extraBody }: InstrumentSettings, method: Method): void {
  if (!verdictSchema) return;
  if (method.replyForm === undefined) {
    throw new UserError(
      `--verdict-schema holds verdicts to a JSON schema, and what is judged by (${method.name}) takes none; do without it, or name another pack with --rubrics`,
      EXIT.usage,
    );
  }
  if (extraBody !== undefined && 'response_format' in extraBody) {
    throw new UserError(
      '--verdict-schema and response_format in --extra-body are two forms of one reply; give one of them',
      EXIT.usage,
    );
  }
}
