import { describe, expect, test } from 'vitest';
import { randomOf } from '../../../src/core/random.js';
import { observationIn } from '../../../src/infer/world.js';
import { certainObservation } from '../../../src/simulate/terminal/screen.js';

/** What each further piece of a reply shows. */
function shownBy(pieces: readonly string[]): string[] {
  let [reply, before] = ['', ''];
  return pieces.map((piece) => {
    reply += piece;
    const certain = certainObservation(reply);
    expect(certain.startsWith(before)).toBe(true);
    const more = certain.slice(before.length);
    before = certain;
    return more;
  });
}

function streamed(reply: string, sizes: () => number): string {
  const pieces: string[] = [];
  for (let at = 0; at < reply.length; at += pieces.at(-1)?.length ?? 0) {
    pieces.push(reply.slice(at, at + Math.max(1, Math.floor(sizes()))));
  }
  return shownBy(pieces).join('');
}

const REPLIES = [
  '<predicted_observation>\nroot@a:~# ls\n\n  a.txt\n</predicted_observation>',
  '<think>the tag <predicted_observation>no</predicted_observation> here</think>\n<predicted_observation>yes</predicted_observation> bye',
  'I say: <Predicted_Observation>**Environment Observation:**\n\n  x < y </predicted_observatio> z</predicted_observation>',
  '<predicted_observation>\n**Environment** is no marker\n</predicted_observation>',
  '<predicted_observation>cut off in the mid',
  '<predicted_observation>\n**Environment Observation:**',
  '<predicted_observation>\n\n</predicted_observation>',
];

describe('a reply that is coming', () => {
  test.each(REPLIES)('finally shows what is read from it, however it is cut: %j', (reply) => {
    const random = randomOf(3);
    const expected = observationIn(reply) ?? '';
    for (const most of [1, 2, 7, 1000]) expect(streamed(reply, () => random.uniform() * most + 1)).toBe(expected);
  });

  test('never shows thinking or any part of a tag on the way', () => {
    const shown = shownBy(Array.from('<think>secret</think><predicted_observation>a<b</predicted_observation>'));
    expect(shown.join('')).toBe('a<b');
    expect(shown.every((piece) => piece.length <= 2)).toBe(true);
  });

  test('shows text as soon as it is certain, not at the end', () => {
    const pieces = ['<predicted_observation>line one\nline', ' two \n', 'three'];
    expect(shownBy(pieces)).toEqual(['line one\nline', ' two', ' \nthree']);
  });

  test('shows nothing of a reply without a tag, which is read at its end', () => {
    expect(streamed('a plain reply', () => 3)).toBe('');
    expect(observationIn('a plain reply')).toBe('a plain reply');
  });
});
