// What made a run: the only reader of a manifest's judge, rubrics, world model, protocol and data.

import type { Provenance } from '../core/decision.js';
import { fingerprintOf } from '../core/identity.js';
import { asObject, type JsonObject } from '../core/json.js';
import { rolloutName } from '../core/types.js';
import type { Manifest } from './manifest.js';

/**
 * What made a judged run. What was not recorded is undefined: everything for a file of the official script, some fields if they were
 * removed from the manifest.
 */
export type MadeWith = ReturnType<typeof madeWith>;

/** Reads what made a run from its checked manifest; a file of the official script has none. */
export function madeWith(manifest: Partial<Manifest> | undefined) {
  const judging = manifest?.identity ?? {};
  const predictions = worldModelManifest(manifest);
  const predicting = predictions?.identity ?? {};
  const rubrics = asObject(judging.rubrics);
  const judge = modelName(judging.judge, manifest?.servedModels);
  const snapshot = textOf(judging.snapshot);
  const baseline = textOf(predicting.baseline);
  const sampling = judging.sampling === undefined ? undefined : asObject(judging.sampling);
  const method = methodOf(judging);
  return {
    /** A mode of `awb judge`; `rubric` if no manifest says, since the official script has no other. */
    mode: textOf(judging.mode) ?? 'rubric',
    /** The judge by the name used to ask it; a locally served judge by its name and its file's hash. */
    judge,
    /** The judge as its server named it. */
    snapshot,
    /** The judge in one name: the snapshot if the judge was asked by name, otherwise `judge`. */
    judgeName: typeof judging.judge === 'string' ? (snapshot ?? judge) : judge,
    rubricPack: textOf(rubrics.name),
    rubricFingerprint: textOf(rubrics.fingerprint),
    /** How verdicts were read: `strict` or `official`. */
    verdicts: textOf(judging.verdicts),
    /** Versions of the reading and of the frame around the rubrics, in words; ratings depend on both. */
    versions: Object.entries({ reading: judging.reading, frame: rubrics.frame })
      .filter(([, version]) => version !== undefined)
      .map(([name, version]) => `${name} ${version}`),
    /** What else the records depend on in this mode; undefined if nothing. */
    method,
    /** Request parameters besides the messages, as sent by the command that wrote the manifest. */
    sampling,
    /**
     * Equal for two judgings made by the same judge in the same way, whatever was judged: covers the judge, its snapshot, the rubrics, the
     * reading of verdicts, the sampling, and anything later versions add. Undefined if no judge is recorded.
     */
    judgeKey: judging.judge === undefined ? undefined : fingerprintOf(without(judging, WHAT_WAS_JUDGED)),
    /** Sampling parameters that the server refused and that were left out. */
    dropped: Array.isArray(sampling?.dropped) ? sampling.dropped.filter((name) => typeof name === 'string') : [],
    /** Who predicted: the model, named in the same way as the judge, or the baseline used instead. */
    worldModel: modelName(predicting.model, predictions?.servedModels) ?? (baseline && `baseline ${baseline}`),
    /** The baseline that predicted without a model, and therefore without a protocol. */
    baseline,
    protocol: textOf(predicting.protocol),
    /** The rollout the predictions belong to, such as `rollout from 0`; undefined if all histories were ground truth. */
    rollout: rolloutName(predicting.rollout),
    /** The checkpoint's name, taken from the predictions or else from the judging. */
    label: predictions?.label ?? manifest?.label,
    /** What the user recorded about the checkpoint, such as its step. */
    meta: { ...predictions?.meta, ...manifest?.meta } as Readonly<Record<string, string>>,
    /** Rows, times repeats, that the run chose, by domain. */
    chosen: manifest?.chosen && new Map(Object.entries(manifest.chosen)),
    /** ISO 8601 times: when the predictions started, and when the judging started and ended. */
    predictedAt: predictions?.startedAt,
    startedAt: manifest?.startedAt,
    endedAt: manifest?.endedAt,
    shares: sharesOf(manifest?.identity, predicting),
  };
}

/**
 * The manifest of the run that asked the world model: that of the predictions, or the run's own if it asked the world model and measured
 * the replies itself. A checked manifest may lack fields.
 */
export function worldModelManifest(manifest: Partial<Manifest> | undefined): Partial<Manifest> | undefined {
  const asksItself = manifest?.kind === 'likelihood' || manifest?.kind === 'scenarios';
  return asksItself ? manifest : manifest?.predictions;
}

/** Identity fields that do not belong to the mode. */
const BESIDE_THE_MODE = [
  ...['mode', 'predictions', 'judge', 'snapshot', 'sampling', 'recheck', 'calibration', 'offsets'],
  ...['model', 'baseline', 'data', 'protocol', 'system_prompt', 'rollout'],
];
/** Identity fields of a judging that describe what was judged, and so say nothing about the judge. */
const WHAT_WAS_JUDGED = ['predictions', 'recheck', 'calibration'];

function without(identity: Manifest['identity'], names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(identity).filter(([name]) => !names.includes(name)));
}

/** The mode's part of a judging's identity: what its records depend on besides the predictions, the judge and the rubrics. */
function methodOf(judging: Manifest['identity']): JsonObject | undefined {
  const method = without(judging, [...BESIDE_THE_MODE, 'rubrics', 'verdicts', 'reading']);
  return Object.keys(method).length === 0 ? undefined : method;
}

/** What two runs may have to share, one JSON value each: equal if they share it, undefined if it was not recorded. */
function sharesOf(
  judging: Manifest['identity'] | undefined,
  { data, protocol, system_prompt }: Manifest['identity'],
): Readonly<Record<Provenance, unknown>> {
  const asked = protocol === undefined ? undefined : { protocol, system_prompt };
  if (judging === undefined) return { judge: undefined, rubric: undefined, protocol: asked, data };
  const { mode, judge, snapshot, verdicts, reading, sampling, rubrics = 'none' } = judging;
  // Fields that only some modes have are always listed, so that a run without them shows it.
  const judgedWith = { judge, snapshot, mode, verdicts, reading, ...methodOf(judging), sampling };
  return { judge: judgedWith, rubric: rubrics, protocol: asked, data };
}

/** The name used to ask a model. A locally served model is identified by its file: name and hash. */
function modelName(recorded: unknown, [served = 'local model']: readonly string[] = []): string | undefined {
  if (typeof recorded === 'string') return recorded;
  const { sha256, kv_cache: cache } = asObject(recorded);
  if (typeof sha256 !== 'string') return undefined;
  return `${served} (sha256 ${sha256.slice(0, 12)}, cache ${textOf(cache) ?? 'unknown'})`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * How verdicts were read, in words, such as `strict (reading 3, frame 2)`. Ratings asked for in another frame, or read in another way, are
 * not comparable.
 */
export function verdictsOf({ verdicts, versions }: Pick<MadeWith, 'verdicts' | 'versions'>): string | undefined {
  if (versions.length === 0) return verdicts;
  return verdicts === undefined ? versions.join(', ') : `${verdicts} (${versions.join(', ')})`;
}
