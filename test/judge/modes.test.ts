// The list of modes: what holds for each of them, and what other code asks them.

import { describe, expect, it } from 'vitest';
import { DEFAULT_MEASURE } from '../../src/core/measures.js';
import type { RubricPack } from '../../src/core/rubric.js';
import { MOST_PARTS, type Mode, type VerdictReading } from '../../src/judge/mode.js';
import { MODES, measureOf, ratesDimensions } from '../../src/judge/modes.js';
import { SAMPLE } from '../support/sample.js';

const pack: RubricPack = {
  name: 'mine',
  fingerprint: 'f',
  official: false,
  domains: ['web'],
  systemPrompt: (domain) => (domain === 'web' ? 'Rate.' : undefined),
  userTemplate: '{context} {world_model_input} {predicted_observation} {ground_truth}',
};
const open = (mode: Mode, given: Partial<RubricPack> = {}, holdsReplies = false) =>
  mode.open({
    verdicts: undefined,
    holdsReplies,
    rubrics: async () => ({ ...pack, ...given }),
    reference: 'another run',
  });

describe.each(Object.entries<Mode>(MODES))('the mode %s', (_, mode) => {
  it('asks parts if it asks a judge, no more than have seeds, and none otherwise', async () => {
    const method = await open(mode);
    const parts = method.parts({ sample: SAMPLE, gen: 'g', beside: { text: 'other' } }).length;
    expect(parts > 0).toBe(mode.asksJudge);
    expect(parts).toBeLessThanOrEqual(MOST_PARTS);
  });

  it('makes a record for a missing prediction', async () => {
    const method = await open(mode);
    const { judge } = method.fail({ class: 'prediction', reason: 'r' }, { sample: SAMPLE, gen: '' });
    expect(judge).toMatchObject({ status: 'failed', class: 'prediction', reason: 'r' });
  });
});

describe('the rubric', () => {
  it('is identified by pack, reading and frame; official texts never change', async () => {
    const own = await open(MODES.rubric);
    expect(own.identity).toEqual({
      rubrics: { name: 'mine', fingerprint: 'f', frame: expect.any(Number) },
      verdicts: 'strict',
      reading: expect.any(Number),
    });
    const official = await MODES.rubric.open({
      verdicts: undefined,
      rubrics: async () => ({ ...pack, official: true }),
    });
    expect(official.identity).toEqual({ rubrics: { name: 'mine', fingerprint: 'f' }, verdicts: 'official' });
  });

  it('constrains the judge to its JSON schema, except for official rubrics, which ask for text around it', async () => {
    expect(await open(MODES.rubric, {}, true)).toHaveProperty('replyForm');
    expect(await open(MODES.rubric)).not.toHaveProperty('replyForm');
    expect(await open(MODES.rubric, { official: true }, true)).not.toHaveProperty('replyForm');
  });

  it('asks for the mark of the case, unless it asks and reads as the official script does', async () => {
    const asked = async (verdicts: VerdictReading | undefined, official: boolean) => {
      const rubrics = async () => ({ ...pack, official });
      const [part] = (await MODES.rubric.open({ verdicts, rubrics })).parts({ sample: SAMPLE, gen: 'g' });
      const question = part.request(0);
      return 'messages' in question ? question.messages.at(-1)?.content : '';
    };
    expect(await asked(undefined, false)).toMatch(
      /<final_evaluation-[0-9a-f]{16}>\n<\/final_evaluation-[0-9a-f]{16}>$/,
    );
    expect(await asked('official', false)).not.toContain('final_evaluation-');
    expect(await asked(undefined, true)).not.toContain('final_evaluation-');
    await expect(asked('strict', true)).rejects.toThrow('leave --verdicts out');
  });

  it('refuses a domain without a prompt, and lists those that have one', async () => {
    const { refusal } = await open(MODES.rubric);
    expect(refusal?.('web')).toBeUndefined();
    expect(refusal?.('os')).toMatch(/^the rubric pack mine has no prompt for the domain "os", only for web;/);
  });
});

describe('the metrics', () => {
  it('measure a reply of nothing but thinking as an empty prediction', async () => {
    const { join } = await open(MODES.metrics);
    expect(join([], { sample: SAMPLE, gen: '<think>r</think>' }).measures).toMatchObject({ exact_match: 0, chrf: 0 });
    expect(join([], { sample: SAMPLE, gen: '<think>x</think>r' }).measures).toMatchObject({ exact_match: 100 });
  });

  it('count only what the model failed to predict as empty', async () => {
    const { fail } = await open(MODES.metrics);
    expect(fail({ class: 'refused', reason: 'r' }, { sample: SAMPLE, gen: '' }).measures).toMatchObject({ chrf: 0 });
    expect(fail({ class: 'context-overflow', reason: 'r' }, { sample: SAMPLE, gen: '' })).not.toHaveProperty(
      'measures',
    );
  });
});

it('measures have a name and a description from their mode; unknown ones are read as percentages', () => {
  const { measures, words } = MODES.metrics;
  expect(measureOf('chrf')).toEqual({ ...measures.chrf, words, leads: true });
  expect(measureOf('line_f1')).toMatchObject({ words, leads: false });
  expect(measureOf('toString')).toEqual(DEFAULT_MEASURE);
});

it.each([
  ['rubric', true],
  ['metrics', false],
  ['of a later version', true],
  ['toString', true],
])('whether the mode %s rates dimensions: %s', (mode, expected) => {
  expect(ratesDimensions(mode)).toBe(expected);
});
