// What made a run: the one reader of what a manifest says of judge, rubrics, world model, protocol and data.

import type { Provenance } from '../core/decision.js';
import { fingerprintOf } from '../core/identity.js';
import { asObject, type JsonObject } from '../core/json.js';
import { rolloutName } from '../core/rollout.js';
import type { Manifest } from './manifest.js';

/**
 * What made a judged run. What nobody recorded is absent: all of it for a file of the official script, parts of it where somebody took
 * them out of the manifest.
 */
export interface MadeWith {
  /** A mode of `awb judge`; `rubric` where no manifest tells, since the official script knows no other. */
  readonly mode: string;
  /** The judge by the name that it was asked by; a judge that was served here by its name and its file's hash. */
  readonly judge: string | undefined;
  /** The judge as its server named it. */
  readonly snapshot: string | undefined;
  /** Who judged, in one name: the snapshot where the judge was asked by a name, else the judge. */
  readonly judgeName: string | undefined;
  readonly rubricPack: string | undefined;
  readonly rubricFingerprint: string | undefined;
  /** How verdicts were read: `strict` or `official`. */
  readonly verdicts: string | undefined;
  /** Versions of what the ratings depend on, in words: of the reading, and of the frame around the rubrics. */
  readonly versions: readonly string[];
  /** What else the mode says that its records depend on; undefined where there is nothing. */
  readonly method: JsonObject | undefined;
  /** What was sent beside the messages by the command that wrote the manifest. */
  readonly sampling: JsonObject | undefined;
  /**
   * What is equal for two judgings that one judge made in the same way, whatever it judged: of the judge, its snapshot, the rubrics, the
   * reading of verdicts, the sampling, and of all that later versions add. Undefined where no judge is recorded.
   */
  readonly judgeKey: string | undefined;
  /** Parameters of the sampling that the server refused, and that were left out. */
  readonly dropped: readonly string[];
  /** Whose predictions: the model, named as the judge is, or the baseline in its place. */
  readonly worldModel: string | undefined;
  /** The baseline that predicted without a model, and so under no protocol. */
  readonly baseline: string | undefined;
  readonly protocol: string | undefined;
  /** The rollout that the predictions stand in, such as `rollout from 0`; undefined where all histories were true. */
  readonly rollout: string | undefined;
  /** The checkpoint's name: of the predictions, or else of the judging. */
  readonly label: string | undefined;
  /** What the user said of the checkpoint, such as its step. */
  readonly meta: Readonly<Record<string, string>>;
  /** Rows, times repeats, that the run chose, by domain. */
  readonly chosen: ReadonlyMap<string, number> | undefined;
  /** ISO 8601 times: when the predictions were begun, and when the judging was begun and ended. */
  readonly predictedAt: string | undefined;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  /** What two runs may have to share: of each, a JSON value that is equal where they share it, undefined where nobody recorded it. */
  readonly shares: Readonly<Record<Provenance, unknown>>;
}

/** Reads what made a run from its checked manifest; from none for a file of the official script. */
export function madeWith(manifest: Partial<Manifest> | undefined): MadeWith {
  const judging = manifest?.identity ?? {};
  const predictions = worldModelManifest(manifest);
  const predicting = predictions?.identity ?? {};
  const rubrics = asObject(judging.rubrics);
  const judge = modelName(judging.judge, manifest?.servedModels);
  const snapshot = textOf(judging.snapshot);
  const baseline = textOf(predicting.baseline);
  const sampling = judging.sampling === undefined ? undefined : asObject(judging.sampling);
  return {
    mode: textOf(judging.mode) ?? 'rubric',
    judge,
    snapshot,
    judgeName: typeof judging.judge === 'string' ? (snapshot ?? judge) : judge,
    rubricPack: textOf(rubrics.name),
    rubricFingerprint: textOf(rubrics.fingerprint),
    verdicts: textOf(judging.verdicts),
    versions: Object.entries({ reading: judging.reading, frame: rubrics.frame })
      .filter(([, version]) => version !== undefined)
      .map(([name, version]) => `${name} ${version}`),
    method: methodOf(judging),
    sampling,
    judgeKey: judgeKeyOf(judging),
    dropped: Array.isArray(sampling?.dropped) ? sampling.dropped.filter((name) => typeof name === 'string') : [],
    worldModel:
      modelName(predicting.model, predictions?.servedModels) ??
      (baseline === undefined ? undefined : `baseline ${baseline}`),
    baseline,
    protocol: textOf(predicting.protocol),
    rollout: rolloutName(predicting.rollout),
    label: predictions?.label ?? manifest?.label,
    meta: { ...predictions?.meta, ...manifest?.meta },
    chosen: manifest?.chosen && new Map(Object.entries(manifest.chosen)),
    predictedAt: predictions?.startedAt,
    startedAt: manifest?.startedAt,
    endedAt: manifest?.endedAt,
    shares: sharesOf(manifest?.identity, predicting),
  };
}

/**
 * The manifest of the run that asked the world model: that of the predictions, or the run's own where it asked the world model and
 * measured what came back. A checked manifest may lack fields.
 */
export function worldModelManifest(manifest: Partial<Manifest> | undefined): Partial<Manifest> | undefined {
  const asksItself = manifest?.kind === 'likelihood' || manifest?.kind === 'scenarios';
  return asksItself ? manifest : manifest?.predictions;
}

/** What an identity holds beside that of its mode. */
const BESIDE_THE_MODE = [
  ...['mode', 'predictions', 'judge', 'snapshot', 'sampling', 'recheck', 'calibration', 'offsets'],
  ...['model', 'baseline', 'data', 'protocol', 'system_prompt', 'rollout'],
];

/** The mode's part of a judging's identity: what its records depend on, beside the predictions and the judge. */
function modeIdentity(judging: Manifest['identity']): JsonObject {
  return Object.fromEntries(Object.entries(judging).filter(([name]) => !BESIDE_THE_MODE.includes(name)));
}

/** What a judging's identity holds of what was judged, and which therefore says nothing of the judge. */
const WHAT_WAS_JUDGED = ['predictions', 'recheck', 'calibration'];

function judgeKeyOf(judging: Manifest['identity']): string | undefined {
  if (judging.judge === undefined) return undefined;
  return fingerprintOf(Object.fromEntries(Object.entries(judging).filter(([name]) => !WHAT_WAS_JUDGED.includes(name))));
}

function methodOf(judging: Manifest['identity']): JsonObject | undefined {
  const { rubrics: _rubrics, verdicts: _verdicts, reading: _reading, ...method } = modeIdentity(judging);
  return Object.keys(method).length === 0 ? undefined : method;
}

/** All that ratings depend on, under the four names of what two runs may have to share. */
function sharesOf(judging: Manifest['identity'] | undefined, predicting: Manifest['identity']): MadeWith['shares'] {
  const { data, protocol, system_prompt } = predicting;
  const asked = protocol === undefined ? undefined : { protocol, system_prompt };
  if (judging === undefined) return { judge: undefined, rubric: undefined, protocol: asked, data };
  const { mode, judge, snapshot, verdicts, reading, sampling, rubrics = 'none' } = judging;
  // Fields that only some modes have are named all the same, so that a run without them says so.
  const judgedWith = { judge, snapshot, mode, verdicts, reading, ...methodOf(judging), sampling };
  return { judge: judgedWith, rubric: rubrics, protocol: asked, data };
}

/** The name that a model was asked by. A model that was served here is known by its file: its name and the file's hash. */
function modelName(recorded: unknown, [served]: readonly string[] = []): string | undefined {
  if (typeof recorded === 'string') return recorded;
  const { sha256, kv_cache: cache } = asObject(recorded);
  if (typeof sha256 !== 'string') return undefined;
  return `${served ?? 'local model'} (sha256 ${sha256.slice(0, 12)}, cache ${textOf(cache) ?? 'unknown'})`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** How verdicts were read, in words, such as `strict (reading 3, frame 2)`. Ratings that were asked for in another frame, or read otherwise, are not alike. */
export function verdictsOf({ verdicts, versions }: MadeWith): string | undefined {
  if (versions.length === 0) return verdicts;
  return verdicts === undefined ? versions.join(', ') : `${verdicts} (${versions.join(', ')})`;
}
