// Subjects that variants are made from, based on the rows recorded in fixtures.

import { readFileSync } from 'node:fs';
import { donorsOf } from '../../src/benchmark/baselines.js';
import { readRow } from '../../src/benchmark/sample.js';
import { randomOf } from '../../src/core/random.js';
import { DOMAINS, type Sample } from '../../src/core/types.js';
import type { Subject } from '../../src/judge/calibrate/variant.js';
import { SAMPLE } from './sample.js';

/** The recorded rows, domain after domain. */
export const RECORDED: readonly Sample[] = DOMAINS.flatMap((domain) =>
  readFileSync(`fixtures/recorded/${domain}_test.jsonl`, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const reading = readRow(line);
      if (!reading.ok) throw new Error(reading.flaw.reason);
      return reading.row.sample;
    }),
);

/** Each recorded row as a subject, with the donor that the baseline `shuffled` uses. @param seed of both streams */
export function recordedSubjects(seed: number): (() => Subject)[] {
  const donorOf = donorsOf(RECORDED);
  return RECORDED.map((sample, row) => () => subjectOf(sample, donorOf(sample), seed * 1000 + row));
}

/** A subject whose streams start at this seed. */
export function subjectOf(sample: Sample, donor: Sample | undefined, seed = 1): Subject {
  return { sample, donor, random: randomOf(seed), rowRandom: randomOf(seed + 1) };
}

/** A row of a second turn whose environment answered this. */
export function answered(
  truth: string,
  { action = 'the action', before = ['before'], domain = 'terminal' } = {},
): Sample {
  return {
    ...SAMPLE,
    domain,
    turnIdx: before.length + 1,
    prompts: [...before.map((_, turn) => `### Turn ${turn + 1}`), action],
    responses: [...before, truth],
  };
}
