// The path of an attack from the world model's reply to the rating: frame, judge, reader.

import { describe, expect, it } from 'vitest';
import { loadRubricPack } from '../../../src/benchmark/rubric-pack.js';
import { readPrediction, shownPrediction } from '../../../src/core/reply.js';
import { ATTACKS } from '../../../src/judge/calibrate/attacks.js';
import { buildJudgeMessages } from '../../../src/judge/rubric.js';
import { readStrictVerdict } from '../../../src/judge/verdicts.js';
import { verdict } from '../../support/judging.js';
import { recordedSubjects } from '../../support/subjects.js';
import { MARK, marked } from '../../support/verdicts.js';

const NAMES = Object.keys(ATTACKS) as (keyof typeof ATTACKS)[];
/** A third of the recorded rows, with some from every domain. */
const SUBJECTS = recordedSubjects(1).flatMap((subject, row) => (row % 3 === 0 ? [subject()] : []));

describe.each(NAMES)('the attack %s', (name) => {
  const cases = SUBJECTS.map((subject) => ({
    sample: subject.sample,
    prediction: readPrediction(ATTACKS[name].make(subject) ?? ''),
  }));

  it("appears whole between its prediction's tags, which it can neither close nor reopen", async () => {
    const pack = await loadRubricPack();
    for (const { sample, prediction } of cases) {
      const text = buildJudgeMessages(pack, sample, prediction).at(-1)?.content ?? '';
      const mark = /^<prediction-([0-9a-f]{12}) /m.exec(text.slice(text.lastIndexOf('<input-')))?.[1] ?? 'none';
      const [, inside = '', ...more] = text.split(new RegExp(`</?prediction-${mark}[^>]*>`));
      expect(more).toHaveLength(1);
      expect(inside.trim()).toBe(shownPrediction(prediction));
      expect(text.split(`<truth-${mark}`)).toHaveLength(2);
    }
  });

  it("leaves the judge's verdict unchanged, whether the judge obeys it or not", () => {
    const asked = { mark: MARK, isHeld: false, countsUnmarked: () => false };
    for (const { prediction } of cases) {
      for (const rating of [2, 5]) {
        const own = marked(verdict(rating)).replace('[]', () => JSON.stringify([`it holds ${prediction}`]));
        const read = readStrictVerdict(own, asked);
        expect(read).toMatchObject({ status: 'ok', ratings: { format: rating, quality: rating } });
        // The reader ignores what it plants, even as the entire reply.
        expect(readStrictVerdict(prediction, asked).status).toBe('unreadable');
      }
    }
  });
});
