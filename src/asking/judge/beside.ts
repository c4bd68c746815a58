// What stands beside each prediction of a judging: that of another file, or the truth of another row. And what needs no judge then.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { PredictedRow, PredictionFile, PredictionRef } from '../../bench/predictions.js';
import { EXIT, UserError } from '../../errors.js';
import { counted } from '../../figures.js';
import { groupBy } from '../../groups.js';
import type { Beside, Method, Mode } from '../../judge/mode.js';
import { present } from '../../present.js';
import { rowId } from '../../row-id.js';
import { madeWith } from '../../run/made-with.js';
import { readManifest } from '../../run/manifest-file.js';
import { groundTruthOf } from '../../turn.js';

/** Predictions as a mode judges them. */
export interface JudgedPredictions extends PredictionFile {
  read(ref: PredictionRef): Promise<PredictedRow & { readonly beside?: Beside }>;
  /** Ids of the predictions that no judge need be asked about. */
  readonly settled?: ReadonlySet<string>;
  /** What the user should know of what stands beside them. */
  readonly notices?: readonly string[];
}

/** @throws UserError (2) where --reference is given to a mode that has no use for it, or names the predictions themselves. */
export function requireReference(
  { beside }: Mode,
  mode: string,
  predictions: string,
  reference: string | undefined,
): void {
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
export async function referenceIdentity(named: string | undefined): Promise<string> {
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

/**
 * The predictions with what the mode wants beside them. Each is read once here, since only its text tells whether a judge has to be
 * asked. @param openReference opens the file of --reference
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
  return { ...predictions, settled: await settledIn(predictions, method) };
}

async function settledIn(predictions: JudgedPredictions, method: Method): Promise<ReadonlySet<string>> {
  const settled = new Set<string>();
  for (const ref of predictions.refs) {
    if (ref.failure !== undefined) continue;
    if (method.alone?.(await predictions.read(ref)) !== undefined) settled.add(rowId(ref.key, ref.repeat));
  }
  return settled;
}

const MOST_NAMED = 5;

/** Each prediction beside that of the same row and repeat in the other file, or of the row's first repeat there. */
function predictionsBeside(file: PredictionFile, other: PredictionFile): JudgedPredictions {
  const partners = new Map<string, PredictionRef>();
  for (const ref of other.refs) {
    for (const id of [rowId(ref.key, ref.repeat), ref.key]) if (!partners.has(id)) partners.set(id, ref);
  }
  const partnerOf = ({ key, repeat }: PredictionRef) => partners.get(rowId(key, repeat)) ?? partners.get(key);
  // A judgement is stale where either of the two has changed.
  const refs = file.refs.map((ref) => ({ ...ref, stamp: `${ref.stamp}+${partnerOf(ref)?.stamp ?? ''}` }));
  const read = async (ref: PredictionRef) => {
    const partner = partnerOf(ref);
    const beside: Beside =
      partner === undefined
        ? { text: '', failure: { class: 'absent', reason: 'the reference has no prediction of this row' } }
        : {
            text: (await other.read(partner)).gen,
            ...(partner.failure && { failure: partner.failure }),
          };
    return { ...(await file.read(ref)), beside };
  };
  const alone = refs.filter((ref) => partnerOf(ref) === undefined).map(({ line }) => line);
  const close = async () => {
    await other.close();
    await file.close();
  };
  return { ...file, refs, read, close, notices: alone.length === 0 ? [] : [aloneNotice(alone, file, other)] };
}

function aloneNotice(lines: readonly number[], file: PredictionFile, other: PredictionFile): string {
  const named = lines.slice(0, MOST_NAMED).join(', ');
  const more = lines.length > MOST_NAMED ? ', ...' : '';
  return `${counted(lines.length, 'prediction')} of ${file.refs.length} in ${file.path} have no partner in ${other.path} and are not compared: ${basename(file.path)}, ${lines.length === 1 ? 'line' : 'lines'} ${named}${more}`;
}

/** How many other rows are looked at for a truth that is another one. */
const MOST_LOOKS = 8;

/** Each prediction beside the truth of another row of its domain, chosen by the row's key: of another trajectory where there is one. */
function truthsBeside(file: PredictionFile): JudgedPredictions['read'] {
  const domains = groupBy(file.refs, ({ domain }) => domain);
  return async (ref) => {
    const row = await file.read(ref);
    const truth = groundTruthOf(row.sample);
    for (const other of othersOf(ref, domains.get(ref.domain) ?? [])) {
      const text = groundTruthOf((await file.read(other)).sample);
      if (text !== truth) return { ...row, beside: { text } };
    }
    const reason = 'the file holds no other truth of this domain';
    return { ...row, beside: { text: '', failure: { class: 'absent', reason } } };
  };
}

/** The rows that are looked at in turn: some of other trajectories before some of the same. */
function othersOf({ key, trajectory }: PredictionRef, refs: readonly PredictionRef[]): PredictionRef[] {
  const start = createHash('sha256').update(`known pair ${key}`).digest().readUInt32BE(0) % refs.length;
  const others = [...refs.slice(start), ...refs.slice(0, start)]
    .slice(0, MOST_LOOKS)
    .filter((other) => other.key !== key);
  const isFar = (other: PredictionRef) => other.trajectory !== trajectory;
  return [...others.filter(isFar), ...others.filter((other) => !isFar(other))];
}
