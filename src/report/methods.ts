// How a run was made, for the methods section of a paper. What was not recorded is reported as such, never guessed.

import { z } from 'zod';
import { COUNT, documentOf, ESTIMATE, keyed, TEXT } from '../core/document.js';
import { canonicalJson, isObject, isText } from '../core/json.js';
import { grouped, intervalText, oneLine, printable, twoDecimals } from '../core/printable.js';
import { askedWord, measureOf, modeOf } from '../judge/modes.js';
import { madeWith, worldModelManifest } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import { percent } from '../stats/coverage.js';
import type { BoardRun } from './leaderboard/runs.js';
import { capitalized, leadingMeasure, overallName } from './score-table.js';
import { INTERVALS, TRUST, trustDocument, trustText } from './trust.js';

const OPEN = z.record(z.string(), z.unknown());

/** A step of a run: what its records depend on, which models answered, and what `awb serve` reported on its engine. No other engine reports its flags. */
const STEP = z.strictObject({
  awb: TEXT,
  ...keyed(z.array(z.string()), 'served_models', 'endpoints'),
  engines: z.array(OPEN),
  identity: OPEN,
});

/** A step that was not recorded is null; so is judging if the run measured its own predictions. */
export const METHODS = z.strictObject({
  schema: z.literal('awb.methods/1'),
  ...keyed(TEXT, 'label', 'mode', 'measure', 'figure', 'scored_with'),
  ...keyed(STEP.nullable(), 'predicting', 'judging'),
  /** The user's notes on the checkpoint, and the settings of infer that choose or repeat rows. */
  ...keyed(OPEN.nullable(), 'meta', 'chosen_by'),
  ...keyed(COUNT, 'chosen', 'valid', 'failed'),
  coverage: z.number(),
  judge_trust: TRUST.nullable(),
  ...keyed(ESTIMATE.nullable(), 'score', 'official'),
});

type Methods = z.infer<typeof METHODS>;

const CHOOSING = ['domains', 'limit', 'sample', 'sample-seed', 'ids', 'shard', 'repeats', 'skip-invalid'];

type MethodsRun = Pick<BoardRun, 'card' | 'trust'> & { readonly manifest: Partial<Manifest> | undefined };

/** @param tool the version that computes the scores */
export function methodsDocument({ card, trust, manifest }: MethodsRun, tool: string): Methods {
  const predicting = worldModelManifest(manifest);
  const settings = predicting?.settings;
  const choosing = CHOOSING.filter((key) => key !== 'sample-seed' || settings?.sample !== undefined);
  const measure = leadingMeasure(card, measureOf);
  return documentOf(METHODS, {
    ...{ ...madeWith(manifest), ...card, schema: 'awb.methods/1', scoredWith: tool, measure },
    figure: measure ?? overallName(card),
    predicting: stepOf(predicting),
    judging: predicting === manifest ? null : stepOf(manifest),
    chosenBy: settings && Object.fromEntries(choosing.map((key) => [key, settings[key] ?? null])),
    judgeTrust: trustDocument(trust),
    score: measure === undefined ? card.overallWithFailures.total : card.overallMeasures[measure],
    official: card.overall.total,
  });
}

function stepOf(manifest: Partial<Manifest> | undefined) {
  const { tool, servedModels = [], endpoints = [], models = [], identity = {} } = manifest ?? {};
  return manifest && { awb: tool?.version, servedModels, endpoints, engines: models, identity };
}

/** The document as a paragraph of plain text. */
export function methodsText(facts: Methods): string {
  const { mode, measure, figure, score, official, predicting, judging, judge_trust: trust } = facts;
  const rating = `Ratings of 1 to 5 are mapped to scores of 0 to 100. Failures of the model (empty, refused, confusing) count as rating 1; the official figure, which excludes them, is ${official ? twoDecimals(official.value) : 'not known'}.`;
  const sentences = [
    stepText('world model', predicting),
    `Checkpoint metadata: ${listed(facts.meta)}. Row selection: ${listed(facts.chosen_by)}.`,
    `Of ${grouped(facts.chosen)} predictions, ${grouped(facts.valid)} are valid and ${grouped(facts.failed)} failed (coverage ${percent(facts.coverage)}).`,
    modeOf(mode ?? '')?.asksJudge === false ? 'No judge was asked.' : stepText(askedWord(mode ?? ''), judging),
    ...(trust === null ? [] : [`${capitalized(trustText(trust.calibrated ? trust : 'uncalibrated'))}.`]),
    ...(measure === null ? [rating] : []),
    `The score (${figure}) is ${score ? `${twoDecimals(score.value)} over ${grouped(score.rows)} rows of ${grouped(score.clusters)} trajectories` : 'not known'}; 95 % interval: ${score?.low === undefined || score.low === null ? 'none' : `${intervalText(score)} (${INTERVALS})`}.`,
    `Scores were computed with agentworldbench ${facts.scored_with}.`,
  ];
  return printable(sentences.join(' '));
}

const UNKNOWN = 'not recorded';
/** Longer than any recorded setting. */
const MOST_CHARACTERS = 10_000;

/** Which model was asked, where, by which engine and how. */
function stepText(role: string, step: Methods['judging']): string {
  const { baseline, model, judge = model, snapshot, sampling, rubrics, predictions: _, ...rest } = step?.identity ?? {};
  if (step === null) return `The ${role} was ${UNKNOWN}.`;
  const name = isObject(judge) ? `a local file with ${listed(judge)}` : (judge ?? UNKNOWN);
  const served = snapshot ?? (step.served_models.join(', ') || UNKNOWN);
  const engine = step.engines.map((facts) => `awb serve (${listed(facts)})`).join(' and ');
  const asked = `${name} (model name in replies: ${served}; endpoint: ${step.endpoints.join(', ') || UNKNOWN}). ${engine ? `Engine: ${engine}` : `Engine, its version and flags, and hash of the weights: ${UNKNOWN}`}. Sampling: ${rest.members ? "each judge's own, below" : listed(sampling)}; everything else was left to the server.`;
  return `The ${role} was ${baseline === undefined ? asked : `the baseline ${baseline}, not a model.`} ${rubrics ? `Rubric pack: ${listed(rubrics)}. ` : ''}Other settings: ${listed(rest)}. Run with agentworldbench ${step.awb ?? `(version ${UNKNOWN})`}.`;
}

/** The members with a value, such as `top p 0.95, seed 1`. */
function listed(members: unknown): string {
  if (!isObject(members)) return UNKNOWN;
  const said = Object.entries(members).filter(([, value]) => value !== null && value !== false && String(value) !== '');
  const words = (key: string) => key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/[_-]/g, ' ');
  const text = (value: unknown): string => {
    if (Array.isArray(value)) return value.map(text).join('; ') || 'none';
    return isObject(value)
      ? `(${listed(value)})`
      : oneLine(isText(value) ? value : canonicalJson(value), MOST_CHARACTERS);
  };
  return said.map(([key, value]) => `${words(key)} ${text(value)}`).join(', ') || 'none';
}
