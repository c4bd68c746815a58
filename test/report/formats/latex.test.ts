// A leaderboard as LaTeX.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cardOf, format, HOSTILE, hostileRuns, METRICS, OFFICIAL, run, tame } from '../../support/boards.js';
import { temporaryFolder } from '../../support/cli.js';

it('hostile names stay text: only our own commands remain', () => {
  const commands = (text: string) => new Set(text.match(/\\(?:[a-z]+|[^a-z])/gi));
  const escapes = ['\\_', '\\#', '\\$', '\\%', '\\&', '\\{', '\\}', '\\textasciitilde', '\\textasciicircum'];
  escapes.push('\\textbackslash', '\\textbar', '\\textless', '\\textgreater', '\\char', '\\ldots');
  const known = new Set([...commands(format('latex', tame)), ...escapes]);
  const text = format('latex', hostileRuns);
  expect([...commands(text)].filter((command) => !known.has(command))).toEqual([]);
  expect(text.match(/\\begin\{/g)).toHaveLength(3 * (HOSTILE.length + 1));
  expect(text).not.toMatch(/\\\\\n\s*[[*]/);
});

/** The text without character escapes, so that the remaining braces and ampersands have a meaning in LaTeX. */
const bare = (text: string) => text.replace(/\\[\\_#$%&{}]/g, (one) => (one === '\\\\' ? one : ''));

it.each([
  ['hostile names', hostileRuns],
  ['runs without intervals', [run('bare', 50, { card: withoutIntervals() })]],
  ['measured runs', [run('measured', 50, { judgedWith: METRICS, measures: { chrf: 40 } })]],
])(
  'with %s is a table that compiles: braces close, environments nest, and every line has a cell for each column',
  (_, runs) => {
    const text = bare(format('latex', runs));
    const open: string[] = [];
    for (const [, way, name = ''] of text.matchAll(/\\(begin|end)\{(\w+)\}/g)) {
      if (way === 'begin') open.push(name);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
    let depth = 0;
    for (const [brace] of text.matchAll(/[{}]/g)) {
      depth += brace === '{' ? 1 : -1;
      expect(depth).toBeGreaterThanOrEqual(0);
    }
    expect(depth).toBe(0);
    const tables = [...text.matchAll(/\\begin\{tabular\}\{([lr]+)\}([\s\S]*?)\\end\{tabular\}/g)];
    expect(tables.length).toBeGreaterThan(0);
    for (const [, columns = '', body = ''] of tables) {
      const lines = body.split('\n').filter((line) => line.trimEnd().endsWith('\\\\'));
      expect(lines.length).toBeGreaterThan(1);
      expect(new Set(lines.map((line) => line.split('&').length))).toEqual(new Set([columns.length]));
    }
  },
);

const noLatex = spawnSync('pdflatex', ['--version']).error && 'pdflatex is not installed';

it.skipIf(noLatex)(`compiles and is no wider than the line (${noLatex ?? 'pdflatex'})`, async () => {
  const cwd = await temporaryFolder();
  // pdflatex has no Hebrew.
  const table = format('latex', [
    ...tame,
    ...hostileRuns.filter((_, at) => !/[\u0590-\u05ff]/.test(HOSTILE[at] ?? '')),
  ]);
  const packages = /% needs (.*)\n/.exec(table)?.[1];
  writeFileSync(join(cwd, 'a.tex'), `\\documentclass{article}${packages}\\begin{document}${table}\\end{document}`);
  const { status, stdout } = spawnSync('pdflatex', ['-interaction=nonstopmode', 'a.tex'], { cwd, encoding: 'utf8' });
  expect(stdout).not.toMatch(/^!|Overfull/m);
  expect(status).toBe(0);
});

function withoutIntervals() {
  return JSON.parse(JSON.stringify(cardOf(50), (key, value) => (key === 'low' || key === 'high' ? undefined : value)));
}

describe('a row', () => {
  const rows = (text: string, name: string) => {
    const lines = text.split('\n').map((line) => line.trim());
    const at = lines.findIndex((line) => line.startsWith(`${name} &`));
    return lines.slice(at, at + 3);
  };

  it('has the interval of every figure below it in small type, and no column that repeats that of the mean', () => {
    const text = format('latex', [run('step-1', 50)]);
    const [figures, intervals, end] = rows(text, 'step-1');
    expect(figures?.match(/50\.00/g)).toHaveLength(8);
    expect(intervals?.match(/\{\\scriptsize 46\.0--54\.0\}/g)).toHaveLength(8);
    expect(end).toBe('\\addlinespace');
    expect(text).not.toContain('95 \\% &');
    expect(text).not.toContain('95 \\%: interval of the mean');
  });

  it('without an interval is one line', () => {
    const text = format('latex', [run('bare', 50, { card: withoutIntervals() })]);
    expect(rows(text, 'bare')[1]).not.toContain('scriptsize');
  });
});

describe('the caption', () => {
  const captionOf = (runs: Parameters<typeof format>[1]) =>
    [...format('latex', runs).matchAll(/\\caption\{(.*)\}$/gm)].map(([, text]) => text);

  it('says what the figures are, over how many rows, how their intervals are computed, and who judged how well', () => {
    const trust = { ceiling: 97.1, noise: 7.9, corruptions: 14, blind: 2, undecided: 0, attack_gain: 0.4 };
    const judgedWith = { ...OFFICIAL, judge: 'gpt', snapshot: 'gpt-2026-01-02', rubricPack: 'awb-3' };
    const runs = [run('a', 50, { trust, judgedWith }), run('b', 40, { trust, judgedWith, coverage: 0.98, rows: 8 })];
    expect(captionOf(runs)[1]).toBe(
      'Judge gpt (gpt-2026-01-02), rubric pack awb-3 01234567, verdicts official, protocol history. ' +
        'Scores count failures of the model (empty, refused, confusing) as rating 1, so failing never pays. ' +
        'Below the figures, where known: 95 \\% intervals (Student t, CR2 standard errors clustered by trajectory, scores on the logit scale). ' +
        'Rows per run: 63, 56; coverage: 100 \\%, 98 \\%; judge snapshot: gpt-2026-01-02; ' +
        'judge: ceiling 97.1, noise 7.9 per row, blind to 2 of 14 corruptions, attack gain +0.4.',
    );
  });

  it('says that the snapshot was not recorded and the judge not calibrated', () => {
    const judgedWith = { ...OFFICIAL, judge: 'j_1', snapshot: undefined };
    expect(captionOf([run('a', 50, { trust: 'uncalibrated', judgedWith })])[1]).toMatch(
      /^Judge j\\_1, .*; judge snapshot: not recorded; judge: uncalibrated\.$/,
    );
  });

  it('does not mention a judge if none was asked', () => {
    const measured = run('a', 50, { judgedWith: METRICS, measures: { chrf: 40 }, trust: undefined });
    expect(captionOf([measured])[1]).toMatch(/not a rating\. .*; coverage: 100 \\%\.$/);
  });
});
