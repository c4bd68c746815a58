// A leaderboard in a terminal.

import { describe, expect, it } from 'vitest';
import { TEXT_FORMATS } from '../../../src/report/formats.js';
import { leaderboard } from '../../../src/report/leaderboard/leaderboard.js';
import { DEFAULTS, format, hostileRuns, LOOK, never, run } from '../../support/boards.js';

describe('a leaderboard in a terminal', () => {
  it('contains hostile names without their control or reordering characters', () => {
    const text = format('terminal', hostileRuns);
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
    expect(text).toContain('line one line two');
  });

  it('marks the best with an asterisk if there are no colours; with colours they are bold and green', () => {
    const board = leaderboard([run('a', 60), run('b', 50)], { ...DEFAULTS, columns: ['mcp'] }, never);
    const plain = TEXT_FORMATS.terminal.print(board, LOOK);
    expect(plain).toMatch(/^a +60\.00\*\nb +50\.00$/m);
    const colored = TEXT_FORMATS.terminal.print(board, { ...LOOK, color: true });
    expect(colored).toContain('\x1b[1m\x1b[32m60.00\x1b[0m');
    expect(colored).not.toContain('60.00*');
  });

  it.each([40, 80, 120])('every line of a table fits %i columns', (columns) => {
    const runs = [run('step-100', 60, { withFailures: 50 }), run('step-200', 50)];
    const lines = format('terminal', runs, columns).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  it('a name that is too long for a terminal is cut between two of its parts', () => {
    const long = 'qwen-agentworld-35b-a3b-finetuned-on-terminal-and-swe';
    const text = format('terminal', [run(long, 60), run('y'.repeat(60), 50)], 120);
    expect(text).toContain('qwen-agentworld-35b-a3b-finetuned-on-… ');
    expect(text).toContain(`${'y'.repeat(39)}…`);
  });
});
