// A leaderboard as LaTeX.

import { expect, it } from 'vitest';
import { format, HOSTILE, hostileRuns, tame } from '../../support/boards.js';

it('hostile names stay text: only our own commands remain', () => {
  const commands = (text: string) => new Set(text.match(/\\(?:[a-z]+|[^a-z])/gi));
  const escapes = ['\\_', '\\#', '\\$', '\\%', '\\&', '\\{', '\\}', '\\textasciitilde', '\\textasciicircum'];
  escapes.push('\\textbackslash', '\\textbar', '\\textless', '\\textgreater', '\\textquotedbl', '\\ldots');
  const known = new Set([...commands(format('latex', tame)), ...escapes]);
  const text = format('latex', hostileRuns);
  expect([...commands(text)].filter((command) => !known.has(command))).toEqual([]);
  expect(text.match(/\\begin\{/g)).toHaveLength(2 * (HOSTILE.length + 1));
  expect(text).not.toMatch(/\\\\\n\s*[[*]/);
});
