// Opening awb judge: its options; a mode and its predictions as the flags say, with rubrics, prompts and the form of replies; what a judge
// sees of each prediction: the recorded history or a rollout's simulated one, and what is shown next to it.

import { dirname, join, resolve } from 'node:path';
import { donorsOf } from '../benchmark/baselines.js';
import { officialRubrics } from '../benchmark/hub/official-rubrics.js';
import {
  openRolloutTurns,
  type PredictedRow,
  type PredictionFile,
  type PredictionRef,
} from '../benchmark/predictions.js';
import { loadRubricPack } from '../benchmark/rubric-pack.js';
import { badData, inputMissing, UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { MOST_JUDGEMENTS } from '../core/judgement.js';
import { counted } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { groundTruthOf } from '../core/turn.js';
import type { Io } from '../core/types.js';
import { sha256Of } from '../disk/files.js';
import { proxiedDownloads } from '../model/http/wire.js';
import { BATCH_OPTIONS, requireBatchFlags, requireNoBatch } from '../run/batch/options.js';
import { madeWith } from '../run/made-with.js';
import { readManifest } from '../run/manifest.js';
import { ASKING_OPTIONS, type AskingSettings } from '../run/options.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, option, type Settings, under } from '../settings/command.js';
import { shortLabel } from '../settings/sources.js';
import { type Beside, type Given, type Method, type Mode, SIGHTS, VERDICT_READINGS } from './mode.js';
import { MODES } from './modes.js';

/** Which judge is asked, and how it should judge. */
export const JUDGE_INSTRUMENT = {
  ...under('Judge', {
    'judge-base-url': option.list('URL', 'OpenAI-compatible endpoint; several share the rows', { check: httpUrl }),
    'judge-model': option.text('NAME', 'model to ask for'),
    'judge-api-key': option.text('KEY', 'key, sent as bearer token (default at api.openai.com: OPENAI_API_KEY)', {
      secret: true,
    }),
    rubrics: option.text(
      'PACK',
      "awb-3 (bundled), official (the paper's, fetched at cd0aa83), folder of a pack, or checkout of the official repository",
    ),
    verdicts: option.choice(
      VERDICT_READINGS,
      'strict: five ratings of 1 to 5 with the mark of the case; official: as the official script asks for and reads them (default: depends on the rubrics)',
    ),
    'verdict-schema': option.flag('force verdicts into a JSON schema, with checklist and reasons before the scores'),
    'max-retries': option.integer('maximum tries for a readable verdict', { min: 1, default: 3 }),
  }),
} as const satisfies OptionTable;

export const JUDGE_OPTIONS = {
  ...under('Data', {
    predictions: option.text('FILE', 'predictions.jsonl of awb infer or of the official script, or its folder', {
      required: true,
    }),
    reference: option.text('FILE', 'for --mode reference, predictions of another world model for the same rows'),
    'output-dir': option.text('DIR', 'folder for judged.jsonl (default: that of the predictions)'),
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean predictions'),
    ids: option.list('LIST', 'only predictions of rows with these ids or keys'),
    label: option.text('NAME', 'name of a second set of judgements: judged.NAME.jsonl', { check: shortLabel }),
    fresh: option.flag('start over; the old files are moved aside'),
  }),
  mode: option.choice(keysOf(MODES), helpOf(MODES), { default: 'rubric', group: 'Judge' }),
  ...JUDGE_INSTRUMENT,
  ...under('Judge', {
    'judge-sees': option.choice(
      SIGHTS,
      'for a rollout: history shows recorded turns and the truth; rollout shows simulated turns and no truth (is it consistent?)',
      { default: 'history' },
    ),
    'domain-prompts': option.text(
      'DIR',
      'for --mode decision, a folder with prompts for agents in agent/<domain>.txt, which add to or replace the bundled ones',
    ),
    'judge-repeats': option.integer('judge every prediction N times', { min: 1, max: MOST_JUDGEMENTS, default: 1 }),
    recheck: option.integer("judge N stored rows again with today's judge and report the shift", { min: 2 }),
  }),
  ...ASKING_OPTIONS,
  ...BATCH_OPTIONS,
} as const satisfies OptionTable;

export type JudgeSettings = Settings<typeof JUDGE_OPTIONS>;

function helpOf(modes: Readonly<Record<string, Pick<Mode, 'help'>>>): string {
  return Object.entries(modes)
    .map(([name, { help }]) => `${name}: ${help}`)
    .join('; ');
}

/** The settings of judge and calibrate that concern the mode. */
type InstrumentSettings = Pick<JudgeSettings, 'rubrics' | 'verdicts' | 'verdictSchema'> &
  Pick<AskingSettings, 'local' | 'extraBody' | 'quiet'>;

/**
 * Opens the mode of a judging.
 * @param reference the file of --reference
 * @throws UserError (2) for conflicting flags; what opening rubrics and prompts throws
 */
export async function openJudging(
  mode: Mode,
  settings: JudgeSettings,
  reference: string | undefined,
  io: Io,
): Promise<Method> {
  const { domainPrompts, judgeSees, ids, recheck } = settings;
  const comparesFiles = mode.beside === 'prediction';
  const name = `--mode ${settings.mode}`;
  refuseIf(
    recheck !== undefined && ids.length > 0,
    '--recheck draws its own rows, but --ids names some; to judge these again, leave --recheck out and choose a new --output-dir',
  );
  const ofOneMode = [
    ['--reference', 'reference', reference !== undefined && !comparesFiles],
    ['--judge-sees rollout', 'rubric', judgeSees !== 'history' && !mode.judgesWithoutTruth],
    ['--domain-prompts', 'decision', domainPrompts !== undefined && !mode.asksAgent],
  ] as const;
  for (const [flag, home, isAstray] of ofOneMode) {
    refuseIf(isAstray, `${flag} belongs to --mode ${home} and has no effect with ${name}; leave one out`);
  }
  return openMode(mode, settings, io, {
    sees: judgeSees,
    // A folder of the user's prompts has those of agents in a subfolder.
    agentFolder: domainPrompts === undefined ? undefined : join(resolve(io.cwd, domainPrompts), 'agent'),
    reference: reference === undefined ? undefined : await referenceIdentity(reference),
  });
}

function refuseIf(isSo: boolean, sentence: string): void {
  if (isSo) throw new UserError(sentence);
}

/** @throws UserError (2) for --verdict-schema where it has no effect; what opening rubrics throws */
export async function openMode(mode: Mode, settings: InstrumentSettings, io: Io, more: Partial<Given> = {}) {
  const { verdicts, verdictSchema, local, extraBody, quiet } = settings;
  // The official pack is fetched when it is first used.
  const onFetch = (text: string) => void (quiet || io.stderr.write(`${text}\n`));
  const official = () =>
    officialRubrics({ env: io.env, fetch: proxiedDownloads(io.env).fetch, signal: io.stop, onFetch });
  const method = await mode.open({
    verdicts,
    // A locally served judge is always held to the form.
    holdsReplies: verdictSchema || local !== undefined,
    rubrics: () => loadRubricPack(settings.rubrics, { cwd: io.cwd, official }),
    ...more,
  });
  refuseIf(
    verdictSchema && method.replyForm === undefined,
    `--verdict-schema forces verdicts into a JSON schema, but ${method.name} has none; leave it out, or choose another pack with --rubrics`,
  );
  refuseIf(
    verdictSchema && extraBody !== undefined && 'response_format' in extraBody,
    '--verdict-schema and response_format in --extra-body both set the form of the reply; give only one of them',
  );
  return method;
}

/** @throws UserError (2) for repeats or batch files in a mode that asks no judge: the numbers would be the same each time */
export function requireJudge({ asksJudge }: Mode, settings: JudgeSettings): void {
  const { mode, judgeRepeats } = settings;
  requireBatchFlags(settings);
  if (asksJudge) return;
  requireNoBatch(settings, `--mode ${mode}`, 'it asks no model');
  refuseIf(
    judgeRepeats > 1,
    `--judge-repeats asks a judge ${judgeRepeats} times, but --mode ${mode} asks none; its measures are the same each time`,
  );
}

/** Digits of a fingerprint that suffice to distinguish runs started at the same time. */
const SHORT = 12;

/**
 * Identifies a predictions file, wherever it lies and however often it is continued: by the run that made it, and its start. A file without
 * a manifest is identified by its bytes. In words, since tables show it. @throws UserError (66) if it cannot be read.
 */
async function referenceIdentity(path: string): Promise<string> {
  const beside = await readManifest(path.replace(/\.jsonl$/, '.manifest.json'));
  const manifest = beside?.kind === 'judge' ? beside.predictions : beside;
  if (manifest?.startedAt !== undefined) {
    const { worldModel = 'predictions' } = madeWith({ predictions: manifest });
    return `${worldModel}, begun ${manifest.startedAt}, run ${manifest.fingerprint.slice(0, SHORT)}`;
  }
  const hash = await sha256Of(path).catch(() => {
    throw inputMissing(`cannot read ${path}; --reference takes the predictions.jsonl of another world model`);
  });
  return `sha256 ${hash}`;
}

/** Predictions as a mode judges them. */
export interface JudgedPredictions extends PredictionFile {
  read(ref: PredictionRef): Promise<PredictedRow & { readonly beside?: Beside }>;
  /** Ids of the predictions that need no judge. */
  readonly settled?: ReadonlySet<string>;
  /** What the user should know about what is shown next to them. */
  readonly notices?: readonly string[];
}

/**
 * The predictions with what the mode shows next to them. Each is read once here, since only its text shows whether a judge has to be asked.
 * @param openReference opens the file of --reference
 */
export async function withBeside(
  mode: Mode,
  method: Method,
  file: PredictionFile,
  openReference: () => Promise<PredictionFile>,
): Promise<JudgedPredictions> {
  if (mode.beside === undefined) return file;
  if (mode.beside === 'truth') return { ...file, read: truthsBeside(file) };
  const other = await openReference();
  const predictions = predictionsBeside(file, other);
  const settled = new Set<string>();
  for (const ref of predictions.refs) {
    if (ref.failure !== undefined) continue;
    if (method.alone?.(await predictions.read(ref)) !== undefined) settled.add(rowId(ref.key, ref.repeat));
  }
  return { ...predictions, settled };
}

/** Pairs each prediction with that of the same row and repeat in the other file, or else with the row's first repeat there. */
function predictionsBeside(file: PredictionFile, other: PredictionFile): JudgedPredictions {
  const partners = new Map<string, PredictionRef>();
  for (const ref of other.refs) {
    for (const id of [rowId(ref.key, ref.repeat), ref.key]) if (!partners.has(id)) partners.set(id, ref);
  }
  const partnerOf = ({ key, repeat }: PredictionRef) => partners.get(rowId(key, repeat)) ?? partners.get(key);
  const read = async (ref: PredictionRef) => {
    const partner = partnerOf(ref);
    if (partner === undefined) {
      return { ...(await file.read(ref)), beside: missing('the reference has no prediction of this row') };
    }
    const { gen: text } = await other.read(partner);
    return { ...(await file.read(ref)), beside: { text, failure: partner.failure } };
  };
  const alone = file.refs.filter((ref) => partnerOf(ref) === undefined).map(({ line }) => line);
  const notice = `${counted(alone.length, 'prediction')} of ${file.refs.length} in ${file.path} have no partner in ${other.path} and are not compared; the first is on line ${alone[0]}. To compare them, predict these rows with the reference model too`;
  return {
    // A judgement is stale if either of the two has changed.
    ...withSource(file, other, (ref) => partnerOf(ref)?.stamp),
    read,
    notices: alone.length === 0 ? [] : [notice],
  };
}

/** The predictions, with the stamps of their second source added to theirs; closing them closes the source too. */
function withSource(
  file: PredictionFile,
  source: { close(): Promise<unknown> },
  stampOf: (ref: PredictionRef) => string | undefined,
): PredictionFile {
  return {
    ...file,
    refs: file.refs.map((ref) => ({ ...ref, stamp: `${ref.stamp}+${stampOf(ref) ?? ''}` })),
    async close() {
      await source.close();
      await file.close();
    },
  };
}

function missing(reason: string): Beside {
  return { text: '', failure: { class: 'absent', reason } };
}

/** Pairs each prediction with the truth of another row of its domain, from another trajectory if there is one. */
function truthsBeside(file: PredictionFile): JudgedPredictions['read'] {
  const donors = donorsOf(file.refs);
  return async (ref) => {
    const row = await file.read(ref);
    const donor = donors(ref);
    const text = donor && groundTruthOf((await file.read(donor)).sample);
    const isOther = text !== undefined && text !== groundTruthOf(row.sample);
    return { ...row, beside: isOther ? { text } : missing('there is no other row with a different truth') };
  };
}

/**
 * Predictions as the judge should see them: those of a rollout with the histories that their world model saw, and without the truth.
 * @param path the file infer wrote: the turns of a rollout lie next to it, wherever the judged file is
 * @throws UserError: 65 for a prediction whose turn is missing in the rollout, and as `openRolloutTurns`
 */
export async function asSeen(
  file: PredictionFile,
  path: string,
  { judgeSees }: Pick<JudgeSettings, 'judgeSees'>,
  stop: AbortSignal,
): Promise<PredictionFile> {
  if (judgeSees === 'history') return file;
  const turns = await openRolloutTurns(join(dirname(path), 'rollout.jsonl'), stop).catch(async (error) => {
    await file.close();
    throw error;
  });
  // A judgement is also stale if the history has changed.
  const seen = withSource(file, turns, ({ key, repeat }) => turns.stampOf(key, repeat));
  const strange = file.refs.find(({ key, repeat }) => turns.stampOf(key, repeat) === undefined);
  if (strange !== undefined) {
    await seen.close();
    throw badData(
      `${file.path}:${strange.line}: ${turns.path} has no turn of this row (key ${strange.key}), so the two do not belong together; name the predictions.jsonl that awb infer --rollout wrote next to it`,
    );
  }
  return {
    ...seen,
    /** The row as the world model saw it, with an empty truth. */
    async read(ref) {
      const read = await file.read(ref);
      const { turns: simulated, from, prompt } = await turns.read(ref.key, ref.repeat);
      const prompts = [...read.sample.prompts.slice(0, from), ...simulated.map((turn) => turn.prompt), prompt];
      const responses = [...read.sample.responses.slice(0, from), ...simulated.map((turn) => turn.response), ''];
      return { ...read, sample: { ...read.sample, prompts, responses, currentPrompt: prompt } };
    },
  };
}
