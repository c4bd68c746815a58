// The overview of a report.

import { describe, expect, it } from 'vitest';
import { pageOf, reportOf, rowOf } from '../support/reports.js';

describe('an overview', () => {
  it('of measures shows measures, and no ratings', () => {
    const measured = [0, 1].map((index) => {
      const { failed: _, ...row } = rowOf(index, { measures: { chrf: 40, exact_match: 0 }, ratings: {}, total: 0 });
      return row;
    });
    const page = pageOf(reportOf(measured));
    expect(page).toContain('<h2>chrf by domain</h2>');
    expect(page).toContain('exact_match');
    expect(page).not.toContain('<h2>Ratings</h2>');
  });

  it('leads with what counts failures at rating 1, and says the official figure beside it', () => {
    const failed = { failed: 1, total: 0, failure: { class: 'refused', reason: 'no' } } as const;
    const page = pageOf(reportOf([rowOf(0), rowOf(1), rowOf(2, failed)]));
    expect(page).toMatch(/<dd class="big">33\.3<.*<br>official: 50\.0/);
    expect(pageOf(reportOf([rowOf(0), rowOf(1)]))).not.toContain('official:');
  });

  it('counts ratings, failures and flags where they are', () => {
    const rows = [
      rowOf(0, { flags: ['truncated'] }),
      rowOf(1, { domain: 'web', flags: ['truncated'] }),
      rowOf(2, { domain: 'web', failed: 1, total: 0, failure: { class: 'refused', reason: 'no' } }),
    ];
    const text = pageOf(reportOf(rows))
      .replace(/<script[\s\S]*?<\/script>/g, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ');
    expect(text).toContain('Failure MCP Web All refused 0 1 1');
    expect(text).toContain('Flag MCP Web All truncated 1 1 2');
    expect(text).toContain('Format 100 % 0 0 0 0 2 5.00');
  });

  it('of what is not whole never reads as a coverage of 100 %', () => {
    const rows = Array.from({ length: 3000 }, (_, index) => rowOf(index));
    const failed = rowOf(3000, { failed: 1, total: 0, failure: { class: 'unreadable', reason: 'x' } });
    expect(pageOf(reportOf([...rows, failed]))).toContain('99.9 <small>%');
  });

  it('names the domain that has least, rounded down as everywhere', () => {
    const failed = { failed: 1, total: 0, failure: { class: 'unreadable', reason: 'x' } } as const;
    const rows = Array.from({ length: 31 }, (_, index) =>
      rowOf(index, { domain: 'web', ...(index < 21 ? failed : {}) }),
    );
    expect(pageOf(reportOf([...rows, rowOf(99)]))).toContain('least: Web 32.2 %');
  });
});
