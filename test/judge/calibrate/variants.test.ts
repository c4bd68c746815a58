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
    expect(chosenVariants({ damages: [], canaries: [] })).toEqual(Object.keys(VARIANTS));
  });

  it('is only truth and rewrites if neither kind is wanted', () => {
    expect(ALWAYS).toContain('truth');
    expect(chosenVariants({ damages: ['none'], canaries: ['none'] })).toEqual(ALWAYS);
  });

  it('contains what is named, in the order of the list', () => {
    expect(chosenVariants({ damages: ['shuffled', 'persistence'], canaries: ['none'] })).toEqual(
      Object.keys(VARIANTS).filter((name) => [...ALWAYS, 'persistence', 'shuffled'].includes(name)),
    );
  });

  it('contains the prediction that an attack is built on, named or not', () => {
    expect(chosenVariants({ damages: ['none'], canaries: ['flattery'] })).toEqual([...ALWAYS, 'shuffled', 'flattery']);
  });

  it('leaves the other kind unchanged', () => {
    const canaries = Object.keys(VARIANTS).filter((name) => name in CANARY_NAMES);
    expect(chosenVariants({ damages: ['none'] })).toEqual([...ALWAYS, 'shuffled', ...canaries]);
  });
});

const CANARY_NAMES = Object.fromEntries(Object.entries(VARIANTS).filter(([, { family }]) => family === 'canary'));

describe('an invalid name', () => {
  it.each([
    [{ damages: ['persistense'] }, '--damages takes only none, or some of the known: unknown name "persistense"; did'],
    [{ canaries: ['fake-verdikt'] }, 'unknown name "fake-verdikt"; did you mean "fake-verdict"?'],
    [{ canaries: ['zzzzzzzz'] }, 'unknown name "zzzzzzzz"; known: closed-frame, '],
    [{ damages: ['flattery'] }, 'unknown name "flattery"; known: determined-1of8, '],
    [{ canaries: ['shuffled'] }, 'unknown name "shuffled"; known: closed-frame, '],
    [{ damages: ['none', 'shuffled'] }, '--damages takes only none'],
    [{ damages: ['truth'] }, 'unknown name "truth"'],
  ])('%o is refused with what to write instead', (choice, message) => {
    expect(() => chosenVariants(choice)).toThrow(expect.objectContaining({ exitCode: EXIT.usage }));
    expect(() => chosenVariants(choice)).toThrow(message);
  });
});
