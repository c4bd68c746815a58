// Graded damage to what action and history determine.

import { describe, expect, it } from 'vitest';
import { DOSES } from '../../src/calibrate/doses.js';
import { tokensOf } from '../../src/calibrate/tokens/truth-tokens.js';
import type { Subject } from '../../src/calibrate/variant.js';
import { recordedSubjects } from '../support/subjects.js';

const SUBJECTS = recordedSubjects(1);
const ENOUGH = SUBJECTS.filter((subject) => tokensOf(subject().sample).determined.length >= 8);
const SHARES = { 'determined-1of8': 1 / 8, 'determined-1of3': 1 / 3, 'determined-2of3': 2 / 3 } as const;
const NAMES = ['determined-1of8', 'determined-1of3', 'determined-2of3'] as const;

/**
 * What stands in each determined token's place: found by walking the truth and the damaged text together, the parts between tokens
 * being the same in both. Undefined where a part between is not.
 */
function replacements(name: keyof typeof DOSES, subject: Subject): string[] | undefined {
  const { text, determined } = tokensOf(subject.sample);
  const made = DOSES[name].make(subject) ?? '';
  const parts = determined.map(({ end }, place) => text.slice(end, determined[place + 1]?.start));
  const head = text.slice(0, determined[0]?.start);
  const escaped = (part: string) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const pattern = `\\n${escaped(head)}${determined
    .map(({ start, end }, place) => {
      const token = text.slice(start, end);
      return `(${escaped(token)}|(?!${escaped(token)}${escaped(parts[place] ?? '')})[^\\n]*?)${escaped(parts[place] ?? '')}`;
    })
    .join('')}\\n</predicted_observation>$`;
  return new RegExp(pattern).exec(made)?.slice(1);
}

describe('on every recorded row', () => {
  it('a row with fewer than eight determined tokens has no dose, and every other has all three', () => {
    expect(ENOUGH.length).toBeGreaterThan(20);
    for (const subject of SUBJECTS) {
      const enough = tokensOf(subject().sample).determined.length >= 8;
      expect(NAMES.map((name) => DOSES[name].make(subject()) !== undefined)).toEqual([enough, enough, enough]);
    }
  });

  it('the same streams give the same bytes, and another stream gives others', () => {
    for (const subject of ENOUGH) {
      const [one, again] = [DOSES['determined-1of3'].make(subject()), DOSES['determined-1of3'].make(subject())];
      expect(again).toBe(one);
      const { sample, random, donor } = subject();
      expect(DOSES['determined-1of3'].make({ sample, random, donor, rowRandom: random })).not.toBe(one);
    }
  });

  it('exactly the share of the tokens is damaged, and all else is the truth byte for byte', { timeout: 60_000 }, () => {
    for (const subject of ENOUGH) {
      const { text, determined } = tokensOf(subject().sample);
      for (const name of NAMES) {
        const now = replacements(name, subject());
        expect(now, `${subject().sample.domain} ${subject().sample.turnIdx} ${name}`).toBeDefined();
        const damaged = determined.filter(({ start, end }, place) => now?.[place] !== text.slice(start, end));
        expect(damaged).toHaveLength(Math.round(determined.length * SHARES[name]));
      }
    }
  });

  it('what a small dose damages, a larger one damages in the same way', { timeout: 60_000 }, () => {
    for (const subject of ENOUGH) {
      const { text, determined } = tokensOf(subject().sample);
      const [small, middle, large] = NAMES.map((name) => replacements(name, subject()) ?? []);
      for (const [place, { start, end }] of determined.entries()) {
        const token = text.slice(start, end);
        if (small?.[place] !== token) expect(middle?.[place]).toBe(small?.[place]);
        if (middle?.[place] !== token) expect(large?.[place]).toBe(middle?.[place]);
      }
    }
  });

  it('a replaced path, name or number stands nowhere in the row', { timeout: 60_000 }, () => {
    for (const subject of ENOUGH) {
      const { text, determined, told } = tokensOf(subject().sample);
      const row = [...told, text].join('\n');
      const now = replacements('determined-2of3', subject()) ?? [];
      for (const [place, { kind, start, end }] of determined.entries()) {
        const other = now[place] ?? '';
        if (other === text.slice(start, end) || kind === 'state') continue;
        if (kind === 'line') expect(other).toBe('');
        else if (kind === 'number') expect(row.match(/\d+(?:[.,]\d+)*/g)).not.toContain(other.replace(/^-/, ''));
        else expect(row).not.toContain(other);
      }
    }
  });
});
