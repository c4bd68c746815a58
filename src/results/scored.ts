// A run that is scored: what a SQLite file is to hold of it, and what to type next.

import { existsSync } from 'node:fs';
import { UserError } from '../core/errors.js';
import { canonicalJson, parseObject } from '../core/json.js';
import { printable, shellLine } from '../core/printable.js';
import { askedName } from '../core/rollout.js';
import type { Io } from '../core/types.js';
import { ratesDimensions } from '../judge/modes.js';
import { type MadeWith, madeWith } from '../run/made-with.js';
import { checkedManifest } from '../run/manifest.js';
import { programName, toolVersion } from '../settings/command.js';
import { isCovered } from '../stats/coverage.js';
import type { RunRecord, StoredName, StoredRun } from '../store/runs.js';
import { judgedAt, wordsFor } from './databases.js';
import type { ReadRun } from './read-run.js';

/** The record of a run, under the label given or else under its own. */
export function recordOf(
  { source, sha256, manifest, made }: Pick<ReadRun, 'source' | 'sha256' | 'manifest' | 'made'>,
  label: string | undefined,
): Omit<RunRecord, 'costs'> {
  return {
    identity: identityOf(made) ?? `file ${sha256}`,
    label: label ?? made.label,
    kind: made.mode,
    source,
    sourceSha256: sha256,
    worldModel: made.worldModel,
    judgeModel: made.judge,
    rubricPack: made.rubricPack,
    rubricFingerprint: made.rubricFingerprint,
    protocol: askedName(made.protocol, made.rollout),
    meta: made.meta,
    manifest: manifest && JSON.stringify(manifest),
    startedAt: made.startedAt,
    endedAt: made.endedAt,
    scoredAt: new Date().toISOString(),
    toolVersion: toolVersion(),
  };
}

/**
 * The label of a run that is scored again without one. A label that the user gave it in the SQLite file is kept; else the run's own
 * holds, which may be another one by now.
 */
export function keptLabel(before: StoredName, own: string | undefined): string | undefined {
  return isGiven(before) ? before.label : own;
}

/**
 * Whether a run has a label from the user, by `awb score --label` or `awb runs rename`: one that its stored manifest does not tell, as
 * far as that can be read.
 */
export function isGiven({ label, manifest }: StoredName): boolean {
  return label !== undefined && label !== madeBefore(manifest)?.label;
}

/** What made a stored run; undefined without a manifest, or where it is damaged. */
function madeBefore(manifest: string | undefined): MadeWith | undefined {
  const found = manifest === undefined ? undefined : parseObject(manifest);
  try {
    return found && madeWith(checkedManifest(found, 'the manifest'));
  } catch (error) {
    // A damaged one tells nothing; where the label is from cannot be known then, and it is kept.
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/**
 * What a run is known by, over continuing, moving, renaming and labelling: who judged whom, and when each of the two began, which
 * continuing does not change. The fingerprints will not do: two checkpoints under one name have equal ones, and a run's own
 * changes when the judge's snapshot becomes known. Undefined for a file without a manifest, which is known by its bytes.
 */
function identityOf(made: MadeWith): string | undefined {
  const { mode: kind, judge: judgeModel, rubricFingerprint, startedAt, worldModel, predictedAt: inferredAt } = made;
  if (startedAt === undefined) return undefined;
  // Files hold this text: its keys and their order tell whether a run stands there already.
  return JSON.stringify({ kind, judgeModel, rubricFingerprint, startedAt, worldModel, inferredAt });
}

/** The mode of runs that need no judge, and whose page shows one of them alone. */
const SCENARIOS = 'scenarios';

/**
 * Command lines to be pasted after a run was scored. The labels and paths in them may be hostile.
 * @param db absolute path of the SQLite file
 * @param runs all runs of the file, this one too
 * @param unforced its judged file, where it is a rollout of which the drift was not told
 */
export function nextSteps(
  id: number,
  db: string,
  runs: readonly StoredRun[],
  unforced: string | undefined,
  io: Io,
): string[] {
  const where = wordsFor(db, io);
  const line = (...words: string[]) => `${programName(io)} ${shellLine([...words, ...where])}`;
  const scored = runs.find((run) => run.id === id);
  const kind = scored?.kind ?? '';
  const base = checkpointBefore(scored, runs);
  const [own, other] = [nameOf(scored, runs), base && nameOf(base, runs)];
  const drift = unforced && `${line('score', unforced, '--teacher-forced', 'RUN')}   # its rows without --rollout`;
  // A report reads both judged files.
  const beside = other && kind !== SCENARIOS && existsSync(base?.source ?? '') ? ['--compare', other] : [];
  const isAlone = runs.every((run) => run.id === id || run.kind !== kind);
  return [
    ...(drift ? [drift] : []),
    ...(other && ratesDimensions(kind) ? [line('compare', other, own), line('gate', other, own)] : []),
    isAlone ? `${line('score', 'RUN')}   # another run, in the same file` : line('leaderboard'),
    line('report', '--run', own, ...beside),
  ];
}

/** What to do about a run whose scores must not be compared, since rows are missing. */
export function stepForMissing({ manifest, made }: Pick<ReadRun, 'manifest' | 'made'>): string {
  if (manifest === undefined) return 'judge the rows that failed once more, then score again';
  const commands =
    made.mode === SCENARIOS ? 'awb infer --scenarios command asks' : 'awb infer and awb judge commands ask';
  return `the same ${commands} only for what is missing; then score again`;
}

/** The checkpoint before a run, by its step: complete, judged as this one was, and over the same data; undefined where there is none. */
function checkpointBefore(own: StoredRun | undefined, runs: readonly StoredRun[]): StoredRun | undefined {
  const alike = runs.filter(
    (run) => isCovered(run.card) && stepOf(run) < stepOf(own) && makingOf(run) === makingOf(own),
  );
  return alike.sort((a, b) => stepOf(b) - stepOf(a) || (judgedAt(a) < judgedAt(b) ? 1 : -1))[0];
}

/** Not a number where the user gave none. */
function stepOf(run: StoredRun | undefined): number {
  const step = String(run?.meta.step ?? '');
  return step.trim() === '' ? Number.NaN : Number(step);
}

function makingOf(run: StoredRun | undefined): string {
  const { shares = {}, rollout = null } = madeBefore(run?.manifest) ?? {};
  return canonicalJson([shares, rollout]);
}

/** What a run is called on a command line: its label, or its number where the label would name another run. */
function nameOf(run: StoredRun | undefined, runs: readonly StoredRun[]): string {
  const { label = '', id } = run ?? {};
  // A label that several have, or that reads as a number or a file, would name another run.
  const isPlain = label !== '' && !/^\d+$|^-|\.jsonl$/i.test(label) && printable(label) === label;
  return isPlain && runs.filter((one) => one.label === label).length === 1 ? label : String(id);
}
