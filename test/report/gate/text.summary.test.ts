// A gate's job summary: within its limit, and no text that acts as markup.

import { describe, expect, it } from 'vitest';
import { jobSummary } from '../../../src/report/gate.js';
import { advisedPage, gatePage, HOSTILE, hostilePage, rule } from '../../support/gate-pages.js';

describe('the job summary', () => {
  const many = gatePage(
    Array.from({ length: 1500 }, (_, index) => rule({ verdict: 'NO-GO', sentence: `ß${'x'.repeat(900)} ${index}` })),
  );
  const bytes = (text: string) => Buffer.byteLength(text);

  it('stays within its limit, includes the verdict, and says what it omits', () => {
    const summary = jobSummary(many);
    expect(bytes(summary)).toBeLessThanOrEqual(1024 * 1024);
    expect(summary).toMatch(/^## NO-GO: b against a\n\nNO-GO: 1500 of 1500 rules broken\n/);
    expect(summary).toContain('does not fit into the job summary');
  });

  it.each([0, 1, 50, 100, 200, 400, 1000])('limited to %d bytes is never longer', (limit) => {
    const summary = jobSummary(many, limit);
    expect(bytes(summary)).toBeLessThanOrEqual(limit);
    expect(summary === '' || summary.startsWith('## NO-GO')).toBe(true);
  });

  it('is complete if it fits', () => {
    const summary = jobSummary(gatePage([rule({ verdict: 'NO-GO', sentence: 'It fell.' })], { notes: ['a note'] }));
    for (const part of ['It fell.', '> a note', 'fingerprint ffffffffffff']) expect(summary).toContain(part);
    expect(summary).not.toContain('does not fit');
  });

  it('with advice is not a verdict', () => {
    expect(jobSummary(advisedPage())).toMatch(/^## ADVICE: /);
  });
});

describe.each(HOSTILE)('hostile text %j', (text) => {
  const hostile = hostilePage(text);

  it('stays text in Markdown', () => {
    const summary = jobSummary(hostile);
    const withoutEscapes = summary
      .replace(/^> /gm, '')
      .replace(/@<!-- -->/g, '')
      .replace(/\\./g, '');
    expect(withoutEscapes).not.toMatch(/[<>`*]|\]\(|@|:\/\//);
    const columns = summary.split('\n').filter((line) => line.startsWith('|'));
    expect(new Set(columns.map((line) => line.replace(/\\\|/g, '').split('|').length)).size).toBe(1);
  });
});
