// Where prompts pause, with a tokeniser that merges blank lines with what precedes them.

import { describe, expect, test } from 'vitest';
import { type MessageMarks, planPrompt } from '../../src/serve/prompt.js';
import { type Prompt, reusablePrefix } from '../../src/serve/scheduler.js';

const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index);

describe('where a prompt pauses', () => {
  // One token per character but the marks, and a newline joined to the character before it, as byte-pair tokenisers may.
  const marks: MessageMarks = { opener: '<s>', openerId: 1, closer: '<e>' };
  const tokenize = (text: string): number[] =>
    (text.match(/<s>|<e>|[^\n]\n+|[\s\S]/g) ?? []).map((piece) =>
      piece === '<s>' ? 1 : piece === '<e>' ? 2 : [...piece].reduce((id, char) => id * 7 + char.charCodeAt(0), 3),
    );
  const render = (...messages: readonly (readonly [string, string])[]): string =>
    `${messages.map(([role, content]) => `<s>${role}\n${content}<e>\n`).join('')}<s>assistant\n`;
  const plan = (text: string): Prompt => planPrompt(text, tokenize(text), marks, tokenize);
  const tail = '\n\nPlease analyze the input above and predict.\n\nNotes:\n- one\n\nThink.';

  test('the next turn, without the request to predict, pauses wherever this one kept its state', () => {
    const first = plan(render(['system', 'S'], ['user', `ab${tail}`]));
    const second = plan(render(['system', 'S'], ['user', 'ab'], ['assistant', 'x'], ['user', `cd${tail}`]));
    const third = plan(
      render(
        ['system', 'S'],
        ['user', 'ab'],
        ['assistant', 'x'],
        ['user', 'cd'],
        ['assistant', 'y'],
        ['user', `ef${tail}`],
      ),
    );
    expect(second.pauses.slice(0, first.pauses.length)).toEqual(first.pauses);
    expect(third.pauses.slice(0, second.pauses.length)).toEqual(second.pauses);
    for (const [before, after] of [
      [first, second],
      [second, third],
    ] as const) {
      expect(reusablePrefix({ slot: 0, prompt: before, restorable: before.checkpoints, lastUsed: 1 }, after)).toBe(
        before.checkpoints.at(-1),
      );
      // Less than two tokens before the two prompts part.
      const shared = after.tokens.findIndex((token, index) => token !== before.tokens[index]);
      expect(shared - (before.checkpoints.at(-1) as number)).toBeLessThan(2);
    }
  });

  test('the state is kept after the system message and at both ends of the last user message', () => {
    const { tokens, checkpoints, pauses } = plan(
      render(['system', 'S'], ['user', 'ab'], ['assistant', 'x'], ['user', `cd${tail}`]),
    );
    expect(checkpoints.map((at) => tokens[at])).toEqual([1, 1, tokenize('d\n\n')[0]]);
    expect(pauses).toHaveLength(4);
  });

  const framed = (name: string, text: string) => `<${name}-0123456789ab turn="1">\n${text}\n</${name}-0123456789ab>\n`;
  const judged = (turns: readonly string[], prediction: string): Prompt => {
    const history = turns.map((turn) => framed('input', turn) + framed('observation', turn)).join('');
    return plan(
      render(
        ['system', 'S'],
        ['user', `${history}Now:\n\n${framed('truth', 't')}\n${framed('prediction', prediction)}`],
      ),
    );
  };
  const reused = (before: Prompt, after: Prompt) => {
    const shared = after.tokens.findIndex((token, index) => token !== before.tokens[index]);
    const reuse = reusablePrefix({ slot: 0, prompt: before, restorable: before.pauses, lastUsed: 1 }, after);
    return { shared, reuse };
  };

  test("a judge's prompts of two predictions share all up to the prediction's tag, which is kept", () => {
    const [one, two] = [judged(['a', 'b'], 'xyz'), judged(['a', 'b'], 'uvw')];
    const { shared, reuse } = reused(one, two);
    expect(shared - reuse).toBe('<prediction-0123456789ab turn="1">'.length);
    expect(one.checkpoints).toContain(reuse);
  });

  test("a judge's prompt of a later turn shares the earlier turns", () => {
    const { shared, reuse } = reused(judged(['a', 'b'], 'x'), judged(['a', 'b', 'c'], 'x'));
    expect(reuse).toBeGreaterThan(0);
    expect(shared - reuse).toBeLessThan(3);
  });

  test("a prediction's text makes no pause, and other texts only a few", () => {
    const tag = '</observation-0123456789ab>\n';
    expect(judged(['a'], tag.repeat(100)).pauses).toHaveLength(judged(['a'], 'x').pauses.length);
    expect(judged([tag.repeat(1000)], 'x').pauses.length).toBeLessThan(70);
  });

  test('without marks it pauses every 512 tokens, and keeps the last', () => {
    expect(planPrompt('', upTo(1024), undefined, tokenize)).toMatchObject({ pauses: [512], checkpoints: [512] });
    expect(planPrompt('', upTo(1025), undefined, tokenize)).toEqual({
      tokens: upTo(1025),
      pauses: [512, 1024],
      checkpoints: [1024],
    });
  });

  test('a mark inside a message does not undo the rest', () => {
    const { pauses } = plan(render(['user', 'a<s>b'], ['assistant', 'x'], ['user', 'c']));
    expect(pauses.length).toBeGreaterThan(1);
  });
});
