// Graded damage to what action and history determine.

import { describe, expect, it } from 'vitest';
import { DOSES } from '../../src/calibrate/doses.js';
import { tokensOf } from '../../src/calibrate/tokens/truth-tokens.js';
import type { Subject } from '../../src/calibrate/variant.js';
import { answered, recordedSubjects, subjectOf } from '../support/subjects.js';

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

  it('exactly the share of the tokens is damaged, and all else is the truth byte for byte', () => {
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

  it('what a small dose damages, a larger one damages in the same way', () => {
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

  it('a replaced path, name or number stands nowhere in the row', () => {
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

describe('of a row made up for it', () => {
  it('JSON stays JSON, a state becomes the other state, and every digit of a number has its place', () => {
    const record = {
      user_name: 'ann_w',
      home_dir: '/home/ann_w/docs',
      is_open: true,
      is_old: false,
      account: 48151623,
      balance: 1234.5,
      note: 'line one\nfile a_b.txt is 777 here',
      mail: 'ann@example.org',
      tag: 'Kestrel',
    };
    const truth = JSON.stringify(record, null, 2);
    const action = `**Action:**\n\`\`\`json\n${JSON.stringify({ name: 'put', arguments: record })}\n\`\`\``;
    for (let seed = 0; seed < 50; seed++) {
      const made = DOSES['determined-2of3'].make(subjectOf(answered(truth, { action }), undefined, seed)) ?? '';
      const now = JSON.parse(made.replace(/<\/?predicted_observation>/g, ''));
      expect(Object.keys(now)).toEqual(Object.keys(record));
      expect([true, false]).toContain(now.is_open);
      expect(String(now.account)).toMatch(/^[1-9]\d{7}$/);
      expect(String(now.balance.toFixed(1))).toMatch(/^[1-9]\d{3}\.\d$/);
      const changes = Object.entries(record).filter(([key, value]) => now[key] !== value);
      expect(changes.length).toBeGreaterThanOrEqual(5);
    }
  });

  it('an exit status becomes 0, and a line is dropped whole', () => {
    const lines = ['one two', 'three four', 'five six', 'seven eight', 'nine ten', 'eleven twelve', 'last words'];
    const before = ['look', ...lines].join('\n');
    const truth = `${before}\nfatal: no\n[exit status 128]`;
    const row = answered(truth, { before: [before] });
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const made = DOSES['determined-2of3'].make(subjectOf(row, undefined, seed)) ?? '';
      const now = made.split('\n').slice(1, -1);
      expect(now.filter((line) => ![...lines, 'look', 'fatal: no'].includes(line))).toHaveLength(1);
      seen.add(now.at(-1) ?? '');
    }
    expect(seen).toEqual(new Set(['[exit status 128]', '[exit status 0]']));
  });

  it('a row that says every word that could stand in gets one that it does not say', () => {
    const words =
      'oak elm fig yew birch maple cedar hazel larch aspen willow laurel poplar walnut spruce acacia juniper cypress sycamore magnolia hawthorn chestnut tamarisk blackthorn boxwood redwood dogwood rosewood sandalwood cottonwood';
    const names = ['a_one', 'b_two', 'c_three', 'd_four', 'e_five', 'f_six', 'g_seven', 'h_eight'];
    const row = answered(names.join('\n'), { action: `**Action:**\n\`\`\`\n${names.join(' ')}\n\`\`\`\n${words}` });
    const made = DOSES['determined-2of3'].make(subjectOf(row, undefined)) ?? '';
    const fresh = made
      .split('\n')
      .slice(1, -1)
      .filter((name) => !names.includes(name));
    expect(fresh).toHaveLength(5);
    for (const name of fresh) expect(`${words} ${names.join(' ')}`).not.toContain(name);
  });
});
