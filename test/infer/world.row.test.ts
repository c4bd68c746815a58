import { expect, test } from 'vitest';
import { readRow } from '../../src/benchmark/sample.js';
import { present } from '../../src/core/errors.js';
import { afterReply, freshWorld, trajectoryRow, worldAt } from '../../src/infer/world.js';

const start = freshWorld({ domain: 'terminal', systemPrompt: 'You are a terminal.', task: 'Tidy up.' });
const acted = ['ls', 'pwd', 'id'].reduce(
  (world, action) => present(afterReply(world, action, `out of ${action}`)),
  start,
);

test('a trajectory is one row of the benchmark whose world is the one that it was made of, up to its last action', () => {
  const reading = readRow(JSON.stringify(trajectoryRow(acted, 'mine')));
  if (!reading.ok) throw new Error(reading.flaw.reason);
  const { sample } = reading.row;
  expect(sample).toMatchObject({ domain: 'terminal', turnIdx: 3, systemPrompt: 'You are a terminal.' });
  const again = worldAt(sample);
  expect(again.turns.map(({ prompt, response, action }) => ({ prompt, response, action }))).toEqual(
    acted.turns.slice(0, 2).map(({ prompt, response, action }) => ({ prompt, response, action })),
  );
  expect([again.preface, again.tail]).toEqual([acted.preface, acted.tail]);
});

test('only the last turn is asked for in it', () => {
  const { prompt, current_prompt: current, total_turns: total } = present(trajectoryRow(acted, 7));
  const prompts = Array.isArray(prompt) ? prompt.map(String) : [];
  expect(prompts.filter((text) => text.includes('<predicted_observation>'))).toEqual([`${current}${acted.tail}`]);
  expect(total).toBe(3);
});

test('there is no row if nothing has happened', () => {
  expect(trajectoryRow(start, 'x')).toBeUndefined();
});
