// Off-script: an action that refers to what the truth showed and the rollout did not. On the recorded rows, too.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRow } from '../../../src/benchmark/sample.js';
import type { Sample } from '../../../src/core/types.js';
import { offScript, simulatedTurn } from '../../../src/infer/rollout/rollout-turn.js';
import { RECORDED } from '../../support/cli.js';
import { SAMPLE } from '../../support/sample.js';

const MARKER = '**Environment Observation:**\n';
const act = (keystrokes: string) =>
  `**Action:**\n\`\`\`json\n${JSON.stringify([{ keystrokes, duration: 0.4 }])}\n\`\`\``;

/** A trajectory in which the truth lists a file, and the third action reads it. */
const DRIVER: Sample = {
  ...SAMPLE,
  domain: 'terminal',
  turnIdx: 3,
  prompts: [act('ls\n'), act('pwd\n'), act('cat build_log.txt\n')],
  responses: [`${MARKER}build_log.txt  README.md`, `${MARKER}/root`, `${MARKER}ok`],
  currentPrompt: act('cat build_log.txt\n'),
};
const flagged = (driver: Sample, from: number, observations: readonly string[]) => {
  const turn = simulatedTurn(driver, { from, observations });
  return offScript(turn, driver.responses.slice(from, turn.turnIdx - 1));
};

describe('an action is off-script', () => {
  test('where it names what only the truth showed', () => {
    expect(flagged(DRIVER, 0, [`${MARKER}notes.md`, `${MARKER}/root`])).toEqual(['build_log.txt']);
    expect(flagged(DRIVER, 0, [MARKER, MARKER])).toEqual(['build_log.txt']);
  });

  test('not where the rollout showed it', () => {
    expect(flagged(DRIVER, 0, [`${MARKER}a build_log.txt`, MARKER])).toEqual([]);
  });

  test('not where it was given: in a true turn, in the system prompt, or by an earlier action', () => {
    expect(flagged(DRIVER, 1, [MARKER])).toEqual([]);
    expect(flagged({ ...DRIVER, systemPrompt: 'There is build_log.txt.' }, 0, [MARKER, MARKER])).toEqual([]);
    const made = { ...DRIVER, prompts: [act('touch build_log.txt\n'), ...DRIVER.prompts.slice(1)] };
    expect(flagged(made, 0, [MARKER, MARKER])).toEqual([]);
  });

  test('not if the truth had not shown it either: the actor made it up', () => {
    const guessed = { ...DRIVER, responses: [`${MARKER}README.md`, `${MARKER}/root`, `${MARKER}ok`] };
    expect(flagged(guessed, 0, [MARKER, MARKER])).toEqual([]);
  });
});

describe('of the recorded trajectories', () => {
  const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];
  const drivers = DOMAINS.flatMap((domain) => {
    const longest = new Map<string, Sample>();
    for (const line of readFileSync(join(RECORDED, `${domain}_test.jsonl`), 'utf8').split('\n')) {
      const reading = readRow(line);
      if (!reading.ok) continue;
      const { sample } = reading.row;
      if ((longest.get(sample.trajectory)?.turnIdx ?? 0) < sample.turnIdx) longest.set(sample.trajectory, sample);
    }
    return [...longest.values()];
  });
  const steps = (observed: (truth: string) => string) =>
    drivers.flatMap((driver) =>
      Array.from({ length: driver.turnIdx }, (_, before) =>
        flagged(driver, 0, driver.responses.slice(0, before).map(observed)),
      ),
    );

  test('no step is off-script where the truth was predicted', () => {
    const found = steps((truth) => truth);
    expect(found).toHaveLength(235);
    expect(found.flat()).toEqual([]);
  });

  test('some steps are where nothing was predicted, each by something that a person would point at', () => {
    const found = steps(() => MARKER).filter((references) => references.length > 0);
    expect(found.length).toBeGreaterThan(20);
    expect(found.length).toBeLessThan(100);
    expect(found).toContainEqual(['inbox/2025']);
    expect(found).toContainEqual(['http://gitdocs.test/git-prune.html']);
    expect(found).toContainEqual(['[54]']);
  });
});
