// The variants that a user selects.

import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { chosenVariants, VARIANTS } from '../../../src/judge/calibrate/variants.js';

const ALWAYS = Object.entries(VARIANTS).flatMap(([name, { family }]) =>
  ['truth', 'rewrite'].includes(family) ? [name] : [],
);

describe('the choice of variants', () => {
  it('is all of them if none is named, in the order of the list', () => {
    expect(chosenVariants({})).toEqual(Object.keys(VARIANTS));
    expect(chosenVariants({ corruptions: [], attacks: [] })).toEqual(Object.keys(VARIANTS));
  });

  it('is only truth and rewrites if neither kind is wanted', () => {
    expect(ALWAYS).toContain('truth');
    expect(chosenVariants({ corruptions: ['none'], attacks: ['none'] })).toEqual(ALWAYS);
  });

  it('contains what is named, in the order of the list', () => {
    expect(chosenVariants({ corruptions: ['shuffled', 'persistence'], attacks: ['none'] })).toEqual(
      Object.keys(VARIANTS).filter((name) => [...ALWAYS, 'persistence', 'shuffled'].includes(name)),
    );
  });

  it('contains the prediction that an attack is built on, named or not', () => {
    expect(chosenVariants({ corruptions: ['none'], attacks: ['flattery'] })).toEqual([
      ...ALWAYS,
      'shuffled',
      'flattery',
    ]);
  });

  it('leaves the other kind unchanged', () => {
    const attacks = Object.keys(VARIANTS).filter((name) => name in ATTACK_NAMES);
    expect(chosenVariants({ corruptions: ['none'] })).toEqual([...ALWAYS, 'shuffled', ...attacks]);
  });
});

const ATTACK_NAMES = Object.fromEntries(Object.entries(VARIANTS).filter(([, { family }]) => family === 'attack'));

describe('an invalid name', () => {
  it.each([
    [
      { corruptions: ['persistense'] },
      '--corruptions takes only none, or some of the known: unknown name "persistense"; did',
    ],
    [{ attacks: ['fake-verdikt'] }, 'unknown name "fake-verdikt"; did you mean "fake-verdict"?'],
    [{ attacks: ['zzzzzzzz'] }, 'unknown name "zzzzzzzz"; known: closed-frame, '],
    [{ corruptions: ['flattery'] }, 'unknown name "flattery"; known: determined-1of8, '],
    [{ attacks: ['shuffled'] }, 'unknown name "shuffled"; known: closed-frame, '],
    [{ corruptions: ['none', 'shuffled'] }, '--corruptions takes only none'],
    [{ corruptions: ['truth'] }, 'unknown name "truth"'],
  ])('%o is refused with what to write instead', (choice, message) => {
    expect(() => chosenVariants(choice)).toThrow(expect.objectContaining({ exitCode: EXIT.usage }));
    expect(() => chosenVariants(choice)).toThrow(message);
  });
});
