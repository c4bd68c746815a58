import { describe, expect, test } from 'vitest';
import { BASELINES, donorsOf } from '../../src/benchmark/baselines.js';
import { openDataset } from '../../src/benchmark/dataset.js';
import type { Sample } from '../../src/core/types.js';
import { RECORDED } from '../support/cli.js';

const tagged = (text: string) => `<predicted_observation>\n${text}\n</predicted_observation>`;

/** A first turn that shows this prompt; the request to predict stands behind it where there is no `currentPrompt`. */
function firstTurn(prompt: string, currentPrompt = prompt): Sample {
  const prompts = [`${prompt}\n\nPlease analyze the input above and answer.`];
  const rest = { key: 'k', trajectory: 't', domain: 'terminal', turnIdx: 1, responses: ['truth'], systemPrompt: '' };
  return { ...rest, prompts, currentPrompt };
}

async function recorded(): Promise<Sample[]> {
  const dataset = await openDataset(RECORDED);
  const samples = await Promise.all(dataset.rows.map((row) => dataset.readSample(row)));
  await dataset.close();
  return samples;
}

describe('persistence', () => {
  test('on the recorded rows, all later turns, gives the observation before the one to predict', async () => {
    for (const sample of await recorded()) {
      expect(sample.turnIdx).toBeGreaterThan(1);
      expect(BASELINES.persistence(sample)).toBe(tagged(sample.responses[sample.turnIdx - 2] as string));
    }
  });

  test('never looks at the turn to predict or later ones', () => {
    const sample = { ...firstTurn('x'), turnIdx: 2, prompts: ['a', 'b', 'c'], responses: ['one', 'two', 'three'] };
    expect(BASELINES.persistence(sample)).toBe(tagged('one'));
  });

  const action = '\n\n**Action:**\n```json\n[]\n```';
  test.each([
    ['a state', `### Turn 1\n**Current State:**\nroot@box:~#${action}`, 'root@box:~#'],
    ['a state below a task', `**Task Instruction:**\nDo it.\n\n**Current State:**\na\n  b${action}`, 'a\n  b'],
    ['a phone state', `**Current Phone State:**\n<p>${action}`, '<p>'],
    ['a state with blank lines and leading spaces', `**Current State:** \r\n\n  a\n\n\tb\n${action}`, '\n  a\n\n\tb'],
    ['a state that talks of actions', `**Current State:**\nthe **Action:** menu${action}`, 'the **Action:** menu'],
    ['a state without an action', '**Current State:**\nroot@box:~#', 'root@box:~#'],
  ])('on a first turn with %s', (_what, prompt, state) => {
    expect(BASELINES.persistence(firstTurn(prompt))).toBe(tagged(state));
    expect(BASELINES.persistence(firstTurn(prompt, ''))).toBe(tagged(state));
  });

  test('on a first turn without a state gives nothing', () => {
    expect(BASELINES.persistence(firstTurn(`### Turn 1${action}`))).toBe('');
    expect(BASELINES.persistence(firstTurn(`The **Current State:** is hidden.${action}`))).toBe('');
  });

  test('the states of the recorded trajectories stand at their first turns', async () => {
    const samples = (await recorded()).filter((sample) => sample.prompts[0]?.includes('\n**Current State:**\n'));
    expect(samples.length).toBeGreaterThan(10);
    for (const sample of samples) {
      const first = sample.prompts[0] as string;
      const [, before = '', state = ''] =
        /^([\s\S]*)\*\*Current State:\*\*\n([\s\S]*?)\s*\*\*Action:\*\*/.exec(first) ?? [];
      expect(before).not.toBe('');
      expect(BASELINES.persistence(firstTurn(first))).toBe(tagged(state));
    }
  });
});

test('oracle gives the ground truth, also where later turns follow', () => {
  const sample = { ...firstTurn('x'), turnIdx: 2, prompts: ['a', 'b', 'c'], responses: ['one', ' two\n', 'three'] };
  expect(BASELINES.oracle(sample)).toBe(tagged(' two\n'));
});

test('empty gives nothing', () => {
  expect(BASELINES.empty()).toBe('');
});

describe('shuffled', () => {
  test('gives the truth of the donor, and nothing without one', () => {
    const donor = { ...firstTurn('y'), responses: ['other'] };
    expect(BASELINES.shuffled(firstTurn('x'), donor)).toBe(tagged('other'));
    expect(BASELINES.shuffled(firstTurn('x'), undefined)).toBe('');
  });

  test('on the recorded rows every donor is of the same domain and another trajectory', async () => {
    const dataset = await openDataset(RECORDED);
    await dataset.close();
    const donorOf = donorsOf(dataset.rows);
    for (const row of dataset.rows) {
      const donor = donorOf(row);
      expect(donor?.domain).toBe(row.domain);
      expect(donor?.trajectory).not.toBe(row.trajectory);
    }
  });

  /** The donors of rows with these domains and trajectories. */
  function donorsAmong(...places: readonly (readonly [domain: string, trajectory: number])[]) {
    const rows = places.map(([domain, trajectory], place) => ({ domain, trajectory: String(trajectory), place }));
    const donorOf = donorsOf(rows);
    return rows.map((row) => donorOf(row)?.place);
  }

  test('another row of the same trajectory is used if there is no other; a lone row has none', () => {
    expect(donorsAmong(['mcp', 0], ['mcp', 0], ['web', 1])).toEqual([1, 0, undefined]);
  });

  test('the last rows look around the end, past rows of their own trajectory', () => {
    expect(donorsAmong(['mcp', 0], ['mcp', 0], ['mcp', 1], ['mcp', 1])).toEqual([2, 2, 0, 0]);
  });

  test('rows of other domains between them make no difference', () => {
    expect(donorsAmong(['mcp', 0], ['web', 1], ['mcp', 2], ['web', 3])).toEqual([2, 3, 0, 1]);
  });
});
