// Neutral rewrites: what they change, and what they leave unchanged.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPrediction, withoutMarker } from '../../../src/core/reply.js';
import { REWRITES } from '../../../src/judge/calibrate/corruptions.js';
import { tokensOf } from '../../../src/judge/calibrate/tokens.js';
import { observationOf, type Subject } from '../../../src/judge/calibrate/variant.js';
import { answered, recordedSubjects, subjectOf } from '../../support/subjects.js';

const SUBJECTS = recordedSubjects(1);
const NAMES = ['rewrite-runtime', 'rewrite-keys', 'rewrite-space'] as const;

/** What a judge sees of the rewrite; undefined if the row has nothing to rewrite. */
function shown(name: keyof typeof REWRITES, subject: Subject): string | undefined {
  const reply = REWRITES[name].make(subject);
  return reply === undefined ? undefined : withoutMarker(readPrediction(reply));
}

function rewritten(name: keyof typeof REWRITES, truth: string, seed: number, before = ['before']): string | undefined {
  return shown(name, subjectOf(answered(truth, { before }), undefined, seed));
}

const truthOf = ({ sample }: Subject) => withoutMarker(observationOf(sample));

describe('on every recorded row', () => {
  it('a rewrite is never the truth itself, and the same stream gives the same bytes', () => {
    for (const subject of SUBJECTS) {
      for (const name of NAMES) {
        expect(shown(name, subject())).not.toBe(truthOf(subject()));
        expect(REWRITES[name].make(subject())).toBe(REWRITES[name].make(subject()));
      }
    }
  });

  it('other runtime leaves every determined token and everything between runtime tokens unchanged', () => {
    const rewrites = SUBJECTS.map((subject) => [subject(), shown('rewrite-runtime', subject())] as const);
    const made = rewrites.filter(([, text]) => text !== undefined);
    // Six of them contain hashes of commits and files that nobody could know.
    expect(made).toHaveLength(6);
    for (const [subject, text] of made) {
      const { determined, runtime, text: truth } = tokensOf(subject.sample);
      expect(text).toHaveLength(truth.length);
      for (const { start, end } of determined) expect(text?.slice(start, end)).toBe(truth.slice(start, end));
      const isRuntime = (place: number) => runtime.some(({ start, end }) => start <= place && place < end);
      for (const [place, char] of [...truth].entries()) if (text?.[place] !== char) expect(isRuntime(place)).toBe(true);
    }
  });

  it('other keys leave the value of JSON unchanged, and other space changes only space', () => {
    let objects = 0;
    for (const subject of SUBJECTS) {
      const keys = shown('rewrite-keys', subject());
      if (keys !== undefined) {
        objects++;
        expect(JSON.parse(keys)).toEqual(JSON.parse(truthOf(subject())));
        expect([...keys].sort().join('')).toBe([...truthOf(subject())].sort().join(''));
      }
      const space = shown('rewrite-space', subject());
      expect((space ?? truthOf(subject())).replace(/ +$/gm, '')).toBe(truthOf(subject()).replace(/ +$/gm, ''));
    }
    expect(objects).toBe(11);
  });
});

describe('keys in another order', () => {
  const key = fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' });
  const leaf = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
  );
  const { value } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
    object: fc.dictionary(key, tie('value'), { maxKeys: 5 }),
    value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value'), { maxLength: 4 }), tie('object')),
  }));

  it('parse to the same value, whatever the JSON and its layout', () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, value, { minKeys: 2, maxKeys: 6 }),
        fc.nat(4),
        fc.nat(),
        (object, indent, seed) => {
          const truth = JSON.stringify(object, null, indent);
          const text = rewritten('rewrite-keys', truth, seed);
          if (text === undefined) return Object.keys(object).every((name) => /^-?\d+$/.test(name));
          return (
            text !== truth && JSON.stringify(sorted(JSON.parse(text))) === JSON.stringify(sorted(JSON.parse(truth)))
          );
        },
      ),
    );
  });

  function sorted(some: unknown): unknown {
    if (Array.isArray(some)) return some.map(sorted);
    if (typeof some !== 'object' || some === null) return some;
    return Object.entries(some)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]);
  }

  it('keep big numbers, escapes and the spaces inside values byte for byte', () => {
    const text =
      rewritten('rewrite-keys', '{"id": 12345678901234567890, "e": 1.50e+3, "s": "\\u00e9 \\/",  "l": [ 1,2 ]}', 3) ??
      '';
    for (const member of ['"id": 12345678901234567890', '"e": 1.50e+3', '"s": "\\u00e9 \\/"', '"l": [ 1,2 ]'])
      expect(text).toContain(member);
  });

  it('are the same for records with the same keys', () => {
    const text = rewritten('rewrite-keys', '[{"a":1,"b":2,"c":3},{"a":4,"b":5,"c":6}]', 5) ?? '';
    const [first, second] = [...text.matchAll(/\{.*?\}/g)].map(([object]) => object.replace(/\d/g, ''));
    expect(second).toBe(first);
  });

  it.each([
    ['keys are numbers', '{"1": "a", "2": "b"}'],
    ['a name is repeated', '{"a": 1, "a": 2}'],
    ['a name is repeated in another case', '{"a": 1, "\\u0061": 2}'],
    ['it is a list', '[1, 2, 3]'],
    ['it is not JSON', '{a: 1, b: 2}'],
    ['it nests too deep', `${'[{"x":1,"y":'.repeat(300)}0${'}]'.repeat(300)}`],
  ])('are not made if %s', (_why, truth) => {
    expect(rewritten('rewrite-keys', truth, 1)).toBeUndefined();
  });
});

describe('other runtime', () => {
  it('replaces what nobody could know with text of the same pattern, and equal tokens by equal ones', () => {
    const truth = [
      '[2] 4711',
      'started pid 4711, log /tmp/tmpa1b2c3d4/run.log',
      'root  4711  0.0 python',
      'commit 9e5fe3bd91ef57a97d879c9669d3518f34df7b10',
      'HEAD is now at 9e5fe3b',
      'id 550e8400-e29b-41d4-a716-446655440000 at 0x7f3a2b1c0d',
      'done in 12.345s',
    ].join('\n');
    const text = rewritten('rewrite-runtime', truth, 1) ?? '';
    const match =
      /^\[2\] (\d{4})\nstarted pid (\d{4}), log \/tmp\/tmp(\w{8})\/run\.log\nroot {2}(\d{4}) {2}0\.0 python\ncommit ([0-9a-f]{40})\nHEAD is now at ([0-9a-f]{7})\nid ([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}) at 0x[0-9a-f]{10}\ndone in 12\.(\d{3})s$/.exec(
        text,
      );
    expect(match).not.toBeNull();
    const [, job, pid, temporary, again, long, short] = match ?? [];
    expect([pid, again]).toEqual([job, job]);
    expect(long?.slice(0, 7)).toBe(short);
    for (const token of ['4711', 'a1b2c3d4', '9e5fe3b', '550e8400', '7f3a2b1c', '12.345'])
      expect(text).not.toContain(token);
    expect(temporary).not.toBe('a1b2c3d4');
  });

  it.each([
    ['a hash whose start is already known', 'HEAD is 9e5fe3bd91ef57a97d879c9669d3518f34df7b10', '[main 9e5fe3b] x'],
    ['a process id that is already known', 'killed pid 4711', '[1] 4711'],
    ['a time that is already known', 'at 10:15:33 it stopped', 'started 10:15:33'],
    ['a temporary path that is already known', 'rm: /tmp/tmpa1b2c3d4', 'made /tmp/tmpa1b2c3d4'],
    ['a date', 'Last updated 2024-05-31', 'before'],
    ['a size', 'wrote 4096 bytes', 'before'],
    ['whole seconds, which may have been requested', 'slept 2 seconds', 'before'],
    ['a time that may be an appointment', 'Lunch 12:30', 'before'],
    ['plain words', 'nothing here', 'before'],
  ])('leaves %s unchanged', (_what, truth, told) => {
    expect(rewritten('rewrite-runtime', truth, 1, [told])).toBeUndefined();
  });

  it('shifts all times together: their order among themselves and relative to known times stays, on the same day', () => {
    const time = fc.integer({ min: 0, max: 86_399 });
    const written = (seconds: number) =>
      [seconds / 3600, (seconds / 60) % 60, seconds % 60]
        .map((part) => String(Math.floor(part)).padStart(2, '0'))
        .join(':');
    const read = (text: string) =>
      [...text.matchAll(/(\d\d):(\d\d):(\d\d)/g)].map(([, h, m, s]) => Number(h) * 3600 + Number(m) * 60 + Number(s));
    fc.assert(
      fc.property(
        fc.array(time, { minLength: 1, maxLength: 6 }),
        fc.array(time, { maxLength: 4 }),
        fc.nat(),
        (times, told, seed) => {
          const truth = times.map((one) => `log ${written(one)} x`).join('\n');
          const text = rewritten('rewrite-runtime', truth, seed, [told.map((one) => `at ${written(one)}`).join('\n')]);
          if (text === undefined) return true;
          const now = read(text);
          const pairs = times.flatMap((one, place) => [
            ...times.map((other, at) => [one, other, now[place], now[at]]),
            ...told.map((other) => [one, other, now[place], other]),
          ]);
          return (
            now.length === times.length &&
            pairs.every(([a = 0, b = 0, c = 0, d = 0]) => Math.sign(a - b) === Math.sign(c - d))
          );
        },
      ),
    );
  });
});

describe('white space', () => {
  it('appears only after lines, and never after a backslash or at the very end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a b', 'c\\', '', '  d', 'e  '), { maxLength: 8 }),
        fc.nat(),
        (lines, seed) => {
          const truth = lines.join('\n');
          const text = rewritten('rewrite-space', truth, seed);
          if (text === undefined) return true;
          return (
            text !== truth.trim() &&
            text.replace(/(?<=[^\s\\]) $/gm, '') === truth.trim().replace(/(?<=[^\s\\]) $/gm, '')
          );
        },
      ),
    );
    expect(rewritten('rewrite-space', 'one line', 1)).toBeUndefined();
  });
});
