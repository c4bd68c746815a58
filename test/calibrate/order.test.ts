// The known order of damages: small, large, and the large one around the small one.

import { describe, expect, it } from 'vitest';
import { contentOf } from '../../src/calibrate/content.js';
import { ORDER } from '../../src/calibrate/order.js';
import { observationOf } from '../../src/calibrate/truth.js';
import type { Subject } from '../../src/calibrate/variant.js';
import { readPrediction, withoutMarker } from '../../src/reply.js';
import { answered, recordedSubjects, subjectOf } from '../support/subjects.js';

const SUBJECTS = recordedSubjects(1);

function shown(name: keyof typeof ORDER, subject: Subject): string {
  return withoutMarker(readPrediction(ORDER[name].make(subject) ?? ''));
}

const truth = ({ sample }: Subject) => withoutMarker(observationOf(sample));

/** Lines of the first text that the second one lacks, as often as they stand there. */
function lost(from: string, to: string): string[] {
  const left = to.split('\n');
  return from.split('\n').filter((line) => {
    const at = left.indexOf(line);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

const words = (text: string) => text.split(/[^\p{L}\p{N}_-]+/u);

describe('on every recorded row', () => {
  it('both damages can be done, and neither leaves the truth as it was', () => {
    expect(SUBJECTS).toHaveLength(63);
    for (const subject of SUBJECTS) {
      const [light, heavy] = [shown('light', subject()), shown('heavy', subject())];
      expect(new Set(['', truth(subject()), light, heavy]).size).toBe(4);
    }
  });

  it('the light damage changes one line, and in it one word, number or state', () => {
    for (const subject of SUBJECTS) {
      const [before, after] = [truth(subject()), shown('light', subject())].map((text) =>
        text.split(/[^\p{L}\p{N}_-]+/u),
      );
      const changes = before?.filter((word, place) => word !== after?.[place]);
      expect(changes).toHaveLength(1);
      expect(after).toHaveLength(before?.length ?? 0);
    }
  });

  it('the heavy damage holds the light one, and changes about half of the lines where there are many', () => {
    for (const subject of SUBJECTS) {
      const [right, light, heavy] = [truth(subject()), shown('light', subject()), shown('heavy', subject())];
      const { kind, pieces } = contentOf(right);
      const [added] = kind === 'lines' ? lost(light, right) : [''];
      const isWhole = heavy.split('\n').includes(added ?? '');
      // Where there is but one line to damage, further words of it are damaged.
      if (!isWhole) expect(words(heavy)).toContain(words(light).find((word) => !words(right).includes(word)));
      const content = pieces.filter((piece) => !/^(?:>|\w+@\w+:)/.test(piece)).length;
      if (kind !== 'lines' || content < 6) continue;
      const share = lost(right, heavy).length / content;
      expect(share).toBeGreaterThan(0.35);
      expect(share).toBeLessThan(0.65);
    }
  });

  it('JSON stays JSON with the same keys', () => {
    const keys = (text: string) => text.match(/\\?"\w+\\?":/g);
    const texts = SUBJECTS.filter((subject) => /^[{[]/.test(truth(subject())) && subject().sample.domain === 'mcp');
    expect(texts).toHaveLength(11);
    for (const subject of texts) {
      for (const name of ['light', 'heavy'] as const) {
        expect(() => JSON.parse(shown(name, subject()))).not.toThrow();
        expect(keys(shown(name, subject()))).toEqual(keys(truth(subject())));
      }
    }
  });

  it('the same seed makes the same bytes, and another seed makes others', () => {
    const made = [1, 1, 2].map((seed) =>
      recordedSubjects(seed).map((subject) => [shown('light', subject()), shown('heavy', subject())]),
    );
    expect(made[1]).toEqual(made[0]);
    expect(made[2]).not.toEqual(made[0]);
  });
});

describe('the light damage', () => {
  const light = (text: string, about: Parameters<typeof answered>[1] = {}) =>
    shown('light', subjectOf(answered(text, about), answered('nothing of the kind\nat all')));

  it('turns a state where there is one', () => {
    expect(light('{"ok": true}')).toBe('{"ok": false}');
    expect(light('test_a ... ok\nRan 1 test')).toBe('test_a ... FAIL\nRan 1 test');
  });

  it('takes what action or history name before what they do not', () => {
    expect(light('wrote /srv/data/fresh.txt\nand something else', { action: 'save fresh.txt' })).toMatch(
      /^wrote \/srv\/data\/(?!fresh)\w+\.txt\nand something else$/,
    );
  });

  it('takes new lines before those that stood there', () => {
    expect(light('7 of 9 files\n3 of 9 files', { before: ['x\n7 of 9 files'] })).toMatch(
      /^7 of 9 files\n. of . files$/,
    );
  });

  it('leaves times, hashes, positions and the numbers of lines alone', () => {
    const text = '12:30:45 1f1803f 2024-05-31\n   22\t(10, 20)\n[7] <a id=5 at=1,2>';
    expect(ORDER.light.make(subjectOf(answered(text), undefined))).toBeUndefined();
  });

  it('leaves the shell prompt and what was typed alone while there is other content', () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const sample = answered('root@box:/app# make install\nbuilt target\nroot@box:/app#');
      expect(shown('light', subjectOf(sample, undefined, seed))).toMatch(
        /^root@box:\/app# make install\n.*\nroot@box:\/app#$/,
      );
    }
  });
});
