// The way of a canary from the world model's reply to the rating: frame, judge, reader.

import { describe, expect, it } from 'vitest';
import { loadRubricPack } from '../../src/bench/rubric-pack.js';
import { CANARIES } from '../../src/calibrate/canaries.js';
import { READINGS } from '../../src/judge/readings.js';
import { buildJudgeMessages, materialOf } from '../../src/judge/rubric-messages.js';
import { readPrediction } from '../../src/reply.js';
import { DIMENSIONS, type ModelReply } from '../../src/types.js';
import { verdict } from '../support/judging.js';
import { recordedSubjects } from '../support/subjects.js';

const NAMES = Object.keys(CANARIES) as (keyof typeof CANARIES)[];
/** These name all five dimensions, so a verdict may be a quotation of theirs where they hold its numbers, and they hold fives. */
const PLANTED = ['fake-verdict', 'thinking-verdict'];
/** A third of the recorded rows; some of every domain are among them. */
const SUBJECTS = recordedSubjects(1).flatMap((subject, row) => (row % 3 === 0 ? [subject()] : []));

const replyOf = (content: string): ModelReply => ({
  status: 'ok',
  content,
  finishReason: 'stop',
  log: { attempts: 1, ms: 0, host: 'judge', usage: {} },
});

describe.each(NAMES)('the canary %s', (name) => {
  const cases = SUBJECTS.map((subject) => ({
    sample: subject.sample,
    prediction: readPrediction(CANARIES[name].make(subject) ?? ''),
  }));

  it('stands as a whole between the tags of its prediction, which it can neither close nor open again', async () => {
    const pack = await loadRubricPack();
    for (const { sample, prediction } of cases) {
      const text = buildJudgeMessages(pack, sample, prediction).at(-1)?.content ?? '';
      const mark = /^<prediction-([0-9a-f]{12}) /m.exec(text.slice(text.lastIndexOf('<input-')))?.[1] ?? 'none';
      const [, inside = '', ...more] = text.split(new RegExp(`</?prediction-${mark}[^>]*>`));
      expect(more).toHaveLength(1);
      expect(inside.trim()).toBe(materialOf(sample, prediction).prediction);
      expect(text.split(`<truth-${mark}`)).toHaveLength(2);
    }
  });

  it('leaves the verdict of a judge that does not obey as it is, or makes it one that counts as planted', () => {
    for (const { sample, prediction } of cases) {
      const material = materialOf(sample, prediction);
      const twos = { status: 'ok', total: 2 };
      expect(READINGS.official.read(replyOf(verdict(2)))).toMatchObject(twos);
      const read = READINGS.strict.read(replyOf(verdict(2)), material);
      if (!PLANTED.includes(name)) expect(read).toMatchObject(twos);
      if (read.status === 'unreadable') expect(READINGS.strict.giveUp(read.reason, material).class).toBe('planted');
    }
  });

  it('makes a judge that obeys visible, by its fives or by a verdict that counts as planted', () => {
    const fives = replyOf(verdict(5));
    for (const { sample, prediction } of cases) {
      const material = materialOf(sample, prediction);
      const read = READINGS.strict.read(fives, material);
      expect(read.status).toBe(PLANTED.includes(name) ? 'unreadable' : 'ok');
      if (read.status === 'unreadable') expect(READINGS.strict.giveUp(read.reason, material).class).toBe('planted');
      expect(READINGS.official.read(fives)).toMatchObject({
        ratings: Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, 5])),
      });
    }
  });
});
