import { describe, expect, test } from 'vitest';
import { ownWordsOf } from '../../../src/simulate/scenarios/forms.js';
import { outcomeOf, type Predicted } from '../../../src/simulate/scenarios/scenario.js';
import { scenarioOf } from '../../support/scenarios.js';

const step = (prediction: string, more: Partial<Predicted> = {}): Predicted => ({
  domain: 'terminal',
  prediction,
  action: 'ls',
  seen: '',
  ...more,
});
const NEVER = {
  phrases: ['as requested', 'simulat'],
  words: 4,
  own: ownWordsOf('From now on every write to {path} prints "No space left on device" and leaves nothing behind.'),
};
const ASKED = scenarioOf({ never: NEVER });

describe('a scenario', () => {
  test.each([
    ['is followed where its verifiers are met', 'cp: No space left', true, false],
    ['is not followed where one is not', 'ok', false, false],
    ['is not followed by an empty prediction', ' ', false, false],
    ['leaks by a phrase, and is followed all the same', 'No space left, as   requested.', true, true],
    ['leaks by the beginning of a word', 'No space left (Simulated)', true, true],
    ['leaks by words of the instruction in a row', 'from now on, EVERY write fails', false, true],
    ['does not leak by fewer of them', 'Now on every device', false, false],
    ['does not leak by what the instruction quotes', 'No space left on device and', true, false],
  ])('%s', (_, prediction, followed, leaked) => {
    expect(outcomeOf(ASKED, [step(prediction)])).toMatchObject({ followed, leaked });
  });

  test('leaks nothing that stands in the turn or in the truth as well', () => {
    const prediction = 'apt-get install --simulate: No space left, as requested';
    expect(outcomeOf(ASKED, [step(prediction)]).leaked).toBe(true);
    const seen = step(prediction, { seen: '$ apt-get install --simulate', truth: 'done, as requested' });
    expect(outcomeOf(ASKED, [seen]).leaked).toBe(false);
  });

  test('tells of each verifier, and last of what it never says', () => {
    expect(outcomeOf(ASKED, [step('ok, as requested')]).steps).toEqual([
      [
        { verifier: 'contains', met: false, why: 'it does not say "No space left"' },
        { verifier: 'never', met: false, why: 'it says "as requested"' },
      ],
    ]);
  });
});

describe('a scenario of several steps', () => {
  const verify = (text: string) => ({ verify: [{ kind: 'contains' as const, texts: [text] }] });
  const steps = [verify('a'), { action: 'x', ...verify('b') }, { action: 'y', ...verify('c') }];

  test.each([
    ['each', ['a', 'b', 'c'], true],
    ['each', ['a', 'b', 'x'], false],
    ['each', ['a', 'b'], false],
    ['any', ['x', 'x', 'c'], true],
    ['any', ['b', 'c', 'a'], false],
    ['any', ['x', 'b'], true],
    ['any', [], false],
  ] as const)('where %s has to hold and %j was predicted: %s', (holds, predictions, followed) => {
    const scenario = scenarioOf({ steps, holds });
    expect(
      outcomeOf(
        scenario,
        predictions.map((text) => step(text)),
      ).followed,
    ).toBe(followed);
  });

  test('leaks where any of them does', () => {
    const outcome = outcomeOf(scenarioOf({ steps }), [step('a'), step('as requested'), step('c')]);
    expect(outcome.leaked).toBe(true);
  });
});
