// How to ask for a row again: the request to the world model, rebuilt from its parts, and the commands that infer and judge it.

import { dirname, resolve } from 'node:path';
import { UserError } from '../core/errors.js';
import { asObject, isText } from '../core/json.js';
import { shellLine, shownPath } from '../core/printable.js';
import { PARAMETERS, type Sampling } from '../core/sampling.js';
import type { ChatMessage, Io, JudgedRow, Sample } from '../core/types.js';
import { buildMessages, openSystemPrompts, PROTOCOLS, type SystemPrompts } from '../infer/messages.js';
import { INFER_OPTIONS } from '../infer/options.js';
import { JUDGE_OPTIONS } from '../judge/opening.js';
import { CHAT, openDialect, requestBody } from '../model/endpoint/request.js';
import type { ReadRun } from '../results/read-run.js';
import { worldModelManifest } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import { cutPasswords } from '../settings/address.js';
import { programName } from '../settings/command.js';
import { flagsFor } from '../settings/command-line.js';
import type { RequestAgain } from './documents.js';

type Request = Omit<RequestAgain, 'messages'> & { readonly messages: readonly ChatMessage[] };

export interface AskAgain {
  /** The request to the world model for a row; undefined if no model was asked, or parts of the request are no longer known. */
  request(row: JudgedRow, sample: Sample): Request | undefined;
  /** Command lines to paste, as far as the run's manifest provides them. */
  commands(row: JudgedRow): readonly string[];
}

/** Options that a row's request depends on; row selection, output paths, speed and budgets do not. */
const SAMPLING = [
  ...PARAMETERS.map(({ wire }) => wire.replaceAll('_', '-')),
  'extra-body',
  'preset',
  'allow-param-drop',
];
const INFER_FLAGS = [
  ...['data-dir', 'local', 'model-base-url', 'model-name', 'baseline', 'protocol', 'system-prompt', 'domain-prompts'],
  ...['rollout', 'rollout-from', ...SAMPLING],
];
const JUDGE_FLAGS = [
  ...['mode', 'reference', 'local', 'judge-base-url', 'judge-model', 'rubrics', 'verdicts', 'verdict-schema'],
  ...['judge-sees', 'domain-prompts', 'data-dir', ...SAMPLING],
];
/** Placeholder for an unrecorded address. */
const NO_ADDRESS = 'https://MODEL-BASE-URL/v1';

/** Rebuilds requests and commands from a run's manifest. No manifest contains a key. */
export async function openAskAgain(
  { manifest, made, source }: Pick<ReadRun, 'manifest' | 'made' | 'source'>,
  io: Io,
): Promise<AskAgain> {
  const inferred = worldModelManifest(manifest);
  const prompts = await promptsOf(inferred, io);
  const ask = prompts && isProtocol(made.protocol) ? asker(inferred, made.protocol, prompts) : undefined;
  const commands = [inferWords(inferred), judgeWords(manifest, dataDirOf(inferred), source, io)];
  return {
    request: ({ repeat, rollout }, sample) =>
      // At a distance above 1, the history contains the model's own predictions.
      rollout !== undefined && rollout.distance > 1 ? undefined : ask?.(sample, repeat),
    commands({ key }) {
      const again = ['--ids', key, '--output-dir', `again/${key}`];
      return commands.flatMap((words) =>
        words === undefined ? [] : `${programName(io)} ${shellLine([...words, ...again].map(cutPasswords))}`,
      );
    },
  };
}

type Known = Partial<Manifest> | undefined;

function inferWords(inferred: Known): string[] | undefined {
  if (inferred?.kind !== 'infer' || inferred.settings === undefined) return undefined;
  // The recorded folder may be relative to another working folder.
  const settings = { ...inferred.settings, 'data-dir': dataDirOf(inferred) };
  return ['infer', ...flagsFor(INFER_OPTIONS, settings, INFER_FLAGS)];
}

function judgeWords(manifest: Known, dataDir: string | undefined, source: string, io: Io): string[] | undefined {
  const file = asObject(manifest?.identity?.predictions).file;
  if (manifest?.kind !== 'judge' || manifest.settings === undefined || typeof file !== 'string') return undefined;
  const isLean = manifest.settings['data-dir'] !== undefined;
  const settings = { ...manifest.settings, 'data-dir': isLean ? dataDir : undefined };
  const predictions = shownPath(resolve(dirname(source), file), io);
  return ['judge', predictions, ...flagsFor(JUDGE_OPTIONS, settings, JUDGE_FLAGS)];
}

function dataDirOf(inferred: Known): string | undefined {
  const dir = inferred?.data?.dir;
  return typeof dir === 'string' ? dir : undefined;
}

type Protocol = keyof typeof PROTOCOLS;

function isProtocol(name: string | undefined): name is Protocol {
  return name !== undefined && Object.hasOwn(PROTOCOLS, name);
}

/** The run's system prompts; undefined if today's differ, or they are no longer known. */
async function promptsOf(inferred: Known, io: Io): Promise<SystemPrompts | undefined> {
  const { 'system-prompt': systemPrompt, 'domain-prompts': domainPrompts } = inferred?.settings ?? {};
  try {
    const prompts = await openSystemPrompts(
      {
        systemPrompt: typeof systemPrompt === 'string' ? systemPrompt : 'row',
        domainPrompts: typeof domainPrompts === 'string' ? domainPrompts : undefined,
      },
      io,
    );
    return prompts.identity === inferred?.identity?.system_prompt ? prompts : undefined;
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** Makes requests as `awb infer` does, but for complete replies instead of streams. */
function asker(inferred: Known, protocol: Protocol, prompts: SystemPrompts) {
  if (inferred?.kind !== 'infer') return undefined;
  const { identity = {}, settings = {}, servedModels = [] } = inferred;
  const model = typeof identity.model === 'string' ? identity.model : (servedModels[0] ?? 'local model');
  // Written by the run; `requestBody` reads the keys that it knows.
  const sampling = asObject(identity.sampling) as Sampling & { readonly dropped?: unknown };
  const dropped = Array.isArray(sampling.dropped) ? sampling.dropped.filter(isText) : [];
  const [address] = [settings['model-base-url']].flat().filter(isText);
  const url = cutPasswords(address ?? NO_ADDRESS).replace(/\/+$/, '') + CHAT.path;
  return (sample: Sample, repeat: number): Request => {
    const messages = buildMessages(sample, protocol, prompts.of(sample));
    const dialect = openDialect({ allowParamDrop: true, onNotice: () => {}, dropped });
    const asked = { model, sampling, stream: false, dialect };
    const { messages: _, ...body } = requestBody(asked, { messages, seedOffset: repeat }, 0);
    return { url, body, messages };
  };
}
