// What a SQLite file is to hold of a judged run.

import { UserError } from '../../core/errors.js';
import { parseObject } from '../../core/json.js';
import { askedName } from '../../core/rollout.js';
import { type MadeWith, madeWith } from '../../run/made-with.js';
import { checkedManifest } from '../../run/manifest.js';
import { toolVersion } from '../../settings/version.js';
import type { RunRecord, StoredName } from '../../store/runs.js';
import type { ReadRun } from '../read-run.js';

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

/** Whether a run has a label from the user, by `awb score --label` or `awb runs rename`: one that its stored manifest does not tell. */
export function isGiven({ label, manifest }: StoredName): boolean {
  return label !== undefined && label !== ownLabel(manifest);
}

/** The label that a run has by its stored manifest; undefined where it has none, or where the manifest is damaged. */
function ownLabel(manifest: string | undefined): string | undefined {
  return madeBefore(manifest)?.label;
}

/** What made a stored run; undefined without a manifest, or where it is damaged. */
export function madeBefore(manifest: string | undefined): MadeWith | undefined {
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
