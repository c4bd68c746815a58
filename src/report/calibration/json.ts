// A calibration as JSON.

import type { Bought, Calibration, CalibrationPart, Loss, Step, VariantFacts } from '../../calibration.js';
import { exitCodeOfLimits, type LimitResult, verdictOf } from '../../judge-limits.js';
import { trustLine, trustOf } from '../../judge-trust.js';
import type { Estimate } from '../../types.js';
import { estimateDocument } from '../document.js';
import type { CalibrationHeader } from './header.js';
import { limitsOfCalibration } from './notes.js';

/** The document of `--json`. Figures are unrounded, and null where there are none. */
export function calibrationDocument(calibration: Calibration, header: CalibrationHeader) {
  const { overall, domains } = calibration;
  const { ceiling = null, noise = null, gullible = null, ...counts } = trustOf(calibration);
  return {
    schema: 'awb.calibrate/1',
    judge_model: header.judge,
    rubric_pack: header.rubricPack,
    verdicts: header.verdicts,
    sampling: header.sampling,
    source: header.source,
    verdict: header.verdict,
    trust: { line: trustLine(trustOf(calibration)), ceiling, noise, ...counts, gullible },
    limits: header.limits.length === 0 ? null : limitsDocument(header.limits),
    overall: partDocument(overall),
    domains: Object.fromEntries(domains.map((part) => [part.domain, partDocument(part)])),
    notes: [...limitsOfCalibration(calibration), ...header.notes],
  };
}

function limitsDocument(limits: readonly LimitResult[]) {
  return {
    verdict: verdictOf(limits),
    exit_code: exitCodeOfLimits(limits),
    results: limits.map(({ name, limit, value, low, high, verdict, sentence }) => ({
      name,
      limit,
      value: value ?? null,
      low: low ?? null,
      high: high ?? null,
      verdict,
      sentence,
    })),
  };
}

function partDocument(part: CalibrationPart) {
  const { rows, trajectories, judged, failed, failures, falsePenalty, noise, gullibility } = part;
  return {
    rows,
    trajectories,
    judged,
    failed,
    failures,
    ceiling: estimateOrNull(part.ceiling),
    truth: estimateOrNull(part.truth),
    floor: estimateOrNull(part.floor),
    false_penalty:
      falsePenalty === undefined
        ? null
        : { ...estimateDocument(falsePenalty.cost), is_none: falsePenalty.isNone ?? null },
    scores: part.scores.map(({ variant, score }) => ({ ...factsDocument(variant), ...estimateDocument(score) })),
    losses: part.losses.map(lossDocument),
    steps: part.steps.map(stepDocument),
    canaries: part.canaries.map(boughtDocument),
    gullibility: gullibility === undefined ? null : boughtDocument(gullibility),
    noise: noise === undefined ? null : { ...noise, low: noise.low ?? null, high: noise.high ?? null },
    smallest_difference: part.smallestDifference ?? null,
  };
}

function estimateOrNull(estimate: Estimate | undefined) {
  return estimate === undefined ? null : estimateDocument(estimate);
}

function factsDocument({ name, family, dose }: VariantFacts) {
  return { variant: name, family, dose: dose ?? null };
}

function lossDocument({ variant, loss, dimensions, most, sight }: Loss) {
  const byDimension = Object.entries(dimensions).map(([name, estimate]) => [name, estimateDocument(estimate)]);
  return {
    ...factsDocument(variant),
    ...estimateDocument(loss),
    sight,
    most: most ?? null,
    dimensions: Object.fromEntries(byDimension),
  };
}

function stepDocument({ better, worse, difference, inverted, p, adjustedP, inversionP, order }: Step) {
  return {
    better: better.name,
    worse: worse.name,
    ...estimateDocument(difference),
    inverted,
    p: p ?? null,
    p_adjusted: adjustedP ?? null,
    p_inverted: inversionP ?? null,
    order,
  };
}

function boughtDocument({ variant, gain }: Bought) {
  return { variant: variant.name, ...estimateDocument(gain) };
}
