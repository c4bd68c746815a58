// What made a run: the one reader of what a manifest says of judge, rubrics, world model, protocol and data.

import type { Provenance } from '../core/decision.js';
import { fingerprintOf } from '../core/identity.js';
import { asObject, type JsonObject } from '../core/json.js';
import { rolloutName } from '../core/types.js';
import type { Manifest } from './manifest.js';

/**
 * What made a judged run. What nobody recorded is undefined: all of it for a file of the official script, parts of it where somebody took
 * them out of the manifest.
 */
export type MadeWith = ReturnType<typeof madeWith>;

/** Reads what made a run from its checked manifest; from none for a file of the official script. */
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
    /** A mode of `awb judge`; `rubric` where no manifest tells, since the official script knows no other. */
    mode: textOf(judging.mode) ?? 'rubric',
    /** The judge by the name that it was asked by; a judge that was served here by its name and its file's hash. */
    judge,
    /** The judge as its server named it. */
    snapshot,
    /** Who judged, in one name: the snapshot where the judge was asked by a name, else the judge. */
    judgeName: typeof judging.judge === 'string' ? (snapshot ?? judge) : judge,
    rubricPack: textOf(rubrics.name),
    rubricFingerprint: textOf(rubrics.fingerprint),
    /** How verdicts were read: `strict` or `official`. */
    verdicts: textOf(judging.verdicts),
    /** Versions of what the ratings depend on, in words: of the reading, and of the frame around the rubrics. */
    versions: Object.entries({ reading: judging.reading, frame: rubrics.frame })
      .filter(([, version]) => version !== undefined)
      .map(([name, version]) => `${name} ${version}`),
    /** What else the mode says that its records depend on; undefined where there is nothing. */
    method,
    /** What was sent beside the messages by the command that wrote the manifest. */
    sampling,
    /**
     * What is equal for two judgings that one judge made in the same way, whatever it judged: of the judge, its snapshot, the rubrics,
     * the reading of verdicts, the sampling, and of all that later versions add. Undefined where no judge is recorded.
     */
    judgeKey: judging.judge === undefined ? undefined : fingerprintOf(without(judging, WHAT_WAS_JUDGED)),
    /** Parameters of the sampling that the server refused, and that were left out. */
    dropped: Array.isArray(sampling?.dropped) ? sampling.dropped.filter((name) => typeof name === 'string') : [],
    /** Whose predictions: the model, named as the judge is, or the baseline in its place. */
    worldModel: modelName(predicting.model, predictions?.servedModels) ?? (baseline && `baseline ${baseline}`),
    /** The baseline that predicted without a model, and so under no protocol. */
    baseline,
    protocol: textOf(predicting.protocol),
    /** The rollout that the predictions stand in, such as `rollout from 0`; undefined where all histories were true. */
    rollout: rolloutName(predicting.rollout),
    /** The checkpoint's name: of the predictions, or else of the judging. */
    label: predictions?.label ?? manifest?.label,
    /** What the user said of the checkpoint, such as its step. */
    meta: { ...predictions?.meta, ...manifest?.meta } as Readonly<Record<string, string>>,
    /** Rows, times repeats, that the run chose, by domain. */
    chosen: manifest?.chosen && new Map(Object.entries(manifest.chosen)),
    /** ISO 8601 times: when the predictions were begun, and when the judging was begun and ended. */
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
/** What a judging's identity holds of what was judged, and which therefore says nothing of the judge. */
const WHAT_WAS_JUDGED = ['predictions', 'recheck', 'calibration'];

function without(identity: Manifest['identity'], names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(identity).filter(([name]) => !names.includes(name)));
}

/** The mode's part of a judging's identity: what its records depend on, beside the predictions, the judge and the rubrics. */
function methodOf(judging: Manifest['identity']): JsonObject | undefined {
  const method = without(judging, [...BESIDE_THE_MODE, 'rubrics', 'verdicts', 'reading']);
  return Object.keys(method).length === 0 ? undefined : method;
}

/** What two runs may have to share: of each, a JSON value that is equal where they share it, undefined where nobody recorded it. */
function sharesOf(
  judging: Manifest['identity'] | undefined,
  { data, protocol, system_prompt }: Manifest['identity'],
): Readonly<Record<Provenance, unknown>> {
  const asked = protocol === undefined ? undefined : { protocol, system_prompt };
  if (judging === undefined) return { judge: undefined, rubric: undefined, protocol: asked, data };
  const { mode, judge, snapshot, verdicts, reading, sampling, rubrics = 'none' } = judging;
  // Fields that only some modes have are named all the same, so that a run without them says so.
  const judgedWith = { judge, snapshot, mode, verdicts, reading, ...methodOf(judging), sampling };
  return { judge: judgedWith, rubric: rubrics, protocol: asked, data };
}

/** The name that a model was asked by. A model that was served here is known by its file: its name and the file's hash. */
function modelName(recorded: unknown, [served = 'local model']: readonly string[] = []): string | undefined {
  if (typeof recorded === 'string') return recorded;
  const { sha256, kv_cache: cache } = asObject(recorded);
  if (typeof sha256 !== 'string') return undefined;
  return `${served} (sha256 ${sha256.slice(0, 12)}, cache ${textOf(cache) ?? 'unknown'})`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** How verdicts were read, in words, such as `strict (reading 3, frame 2)`. Ratings that were asked for in another frame, or read otherwise, are not alike. */
export function verdictsOf({ verdicts, versions }: Pick<MadeWith, 'verdicts' | 'versions'>): string | undefined {
  if (versions.length === 0) return verdicts;
  return verdicts === undefined ? versions.join(', ') : `${verdicts} (${versions.join(', ')})`;
}
