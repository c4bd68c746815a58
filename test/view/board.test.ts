// A leaderboard as a page.

import { describe, expect, it } from 'vitest';
import { STYLE } from '../../src/view/style.js';
import { format, hostileRuns, run, sha256, tame } from '../support/boards.js';

describe('the page of a leaderboard', () => {
  it('of hostile names has the tags and attributes of a tame page', () => {
    const plain = (text: string) => text.replace(/ data-label="[^"<>]*"/g, '');
    const tags = (text: string) =>
      [...new Set(plain(text).match(/<[^>]*>/g))].filter((tag) => !/ aria-label="/.test(tag));
    const known = new Set([...tags(format('html', tame)), '<bdi>', '</bdi>']);
    expect(tags(format('html', hostileRuns)).filter((tag) => !known.has(tag))).toEqual([]);
  });

  it('admits its own style, which is that of the report, and nothing else', () => {
    const page = format('html', tame);
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
    expect(style).toBe(STYLE);
    expect(page).toContain(`content="default-src 'none'; style-src 'sha256-${sha256(style)}'; img-src data:; base-uri`);
    expect(page).not.toMatch(/<script|\ssrc=|url\(|@import|\sstyle=|href="(?!data:,"|#)/);
  });

  it('shows each interval once, own runs above published ones, and figures of another counting under their own', () => {
    const page = format('html', [run('a', 60, { withFailures: 45 }), run('b', 30)]);
    expect(page.match(/41\.00–49\.00/g)).toHaveLength(8);
    expect(page.match(/official 60\.00/g)).toHaveLength(8);
    expect(page.indexOf('<th scope="row">b</th>')).toBeLessThan(page.indexOf('<tr class="group">'));
    expect(page.indexOf('<tr class="group">')).toBeLessThan(page.indexOf('GPT-5.4'));
  });
});
