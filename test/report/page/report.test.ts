// The HTML report's markup: what it holds, and what nothing in it can do.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { measuresOf } from '../../../src/measures.js';
import type { Report } from '../../../src/report/page/contents.js';
import { reportPage, textsPage } from '../../../src/report/page/report.js';
import { type SampleTexts, textsChunk } from '../../../src/report/page/texts.js';
import { aggregate } from '../../../src/score/aggregate.js';
import type { JudgedRow } from '../../../src/types.js';

const EVIL = `"><img src=x onerror=alert(1)></script><script>alert(2)</script><!--'\u202e`;

function rowOf(index: number, change: Partial<JudgedRow> = {}): JudgedRow {
  const ratings = { format: 5, factuality: 2, consistency: 3, realism: 4, quality: 1 };
  const base = {
    key: `k${index}`,
    trajectory: `t${index % 3}`,
    repeat: 0,
    index: 0,
    domain: 'mcp',
    turnIdx: index + 1,
  };
  return { ...base, failed: 0, total: 3, ratings, flags: [], ...change };
}

function reportOf(rows: readonly JudgedRow[], change: Partial<Report> = {}): Report {
  return {
    run: { name: 'step-1', facts: [['judge', 'j']], card: aggregate(rows) },
    warnings: [],
    turns: [],
    contexts: [],
    usage: [],
    samples: rows.map((row) => ({ row, ...(row.failed === 0 ? { points: 50 } : {}), note: '' })),
    starts: [0],
    measureOf: measuresOf(),
    tool: 'awb 0',
    ...change,
  };
}

const TEXTS: SampleTexts = {
  prediction: 'a\nb',
  truth: 'a\nc',
  action: 'do it',
  history: [{ action: 'first', observation: 'seen' }],
  systemPrompt: 'be a shell',
  strengths: [],
  weaknesses: ['wrong'],
  judgeReply: 'b is wrong',
};

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');
const script = 'addEventListener("hashchange", show);';
const pageOf = (report: Report, inline: readonly string[] = []) =>
  [...reportPage(report, { inline }, { script, sha256 })].join('');
const insides = (page: string, tag: string) =>
  [...page.matchAll(new RegExp(`<${tag}(?: [^>]*)?>([\\s\\S]*?)</${tag}>`, 'g'))].map((match) => match[1] as string);

describe('the page', () => {
  const page = pageOf(reportOf([rowOf(0), rowOf(1)]));
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';

  it('allows its own style and script by their hashes, and no request', () => {
    expect(policy).toMatch(/^default-src 'none'; /);
    const [style] = insides(page, 'style');
    expect(policy).toContain(`style-src 'sha256-${sha256(style as string)}'`);
    expect(policy).toContain(`script-src 'sha256-${sha256(script)}'`);
    expect(insides(page, 'script').at(-1)).toBe(script);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it('names no other file, and needs no attribute that the policy refuses', () => {
    expect(
      [...page.matchAll(/(?:src|href)="([^"]*)"/g)]
        .map((match) => match[1])
        .filter((to) => !/^(#|data:,$)/.test(to ?? '')),
    ).toEqual([]);
    expect(page).not.toMatch(/ style=| on[a-z]+=/);
  });

  it('is the same for the same report', () => {
    expect(pageOf(reportOf([rowOf(0), rowOf(1)]))).toBe(page);
  });

  it('says figures and intervals as text beside every chart', () => {
    const rows = [2, 3, 4, 2, 4].map((total, place) => rowOf(place, { total, trajectory: `own${place}` }));
    const shown = pageOf(reportOf(rows));
    expect(shown).toContain('50.0</td>');
    expect(shown).toMatch(/<span class="range">\d\d\.\d to \d\d\.\d<\/span>/);
    for (const svg of shown.match(/<svg[^>]*>/g) ?? []) expect(svg).toContain('aria-hidden="true"');
  });
});

describe('texts of models and files', () => {
  const rows = [
    rowOf(0, { domain: EVIL, flags: [EVIL] }),
    rowOf(1, { failed: 1, total: 0, failure: { class: `judge-${EVIL}` as 'judge-fatal', reason: EVIL } }),
  ];
  const estimate = { value: 1, rows: 2, clusters: 2, se: 1, df: 1, low: -1, high: 3 };
  const evil = reportOf(rows, {
    run: { name: EVIL, facts: [[EVIL, EVIL]], card: aggregate(rows) },
    other: { name: EVIL, facts: [[EVIL, 'x']], card: aggregate(rows) },
    change: {
      domains: [{ domain: EVIL, difference: estimate, wins: 1, ties: 0, losses: 0 }],
      overall: { difference: estimate, wins: 1, ties: 0, losses: 0 },
    },
    warnings: [EVIL],
    turns: [
      { name: EVIL, estimate },
      { name: 'x', estimate },
    ],
    contexts: [],
    usage: [{ stage: EVIL, usage: { promptTokens: 1 } }],
    manifest: JSON.stringify({ evil: EVIL }),
    samples: rows.map((row) => ({ row, note: EVIL })),
    tool: EVIL,
  });
  const chunk = textsChunk();
  chunk.add({ ...TEXTS, prediction: EVIL, truth: EVIL, action: EVIL, weaknesses: [EVIL], judgeReply: EVIL });
  const links = { back: `../${EVIL}`, own: 'texts-' };

  it.each([
    ['the page', pageOf(evil, [chunk.json()])],
    ['a page of texts', textsPage(evil, 0, chunk.json(), links, { script, sha256 })],
  ])('open no element in %s, close none, and hide nothing', (_name, page) => {
    const plain = pageOf(reportOf([rowOf(0)]), ['{}']);
    expect(page).not.toMatch(/<img|<!--|\u202e.*<\/title>/);
    expect(page.match(/<script/g)?.length).toBe(plain.match(/<script/g)?.length);
    expect(page.match(/<\/script/g)?.length).toBe(page.match(/<script/g)?.length);
    expect(page.replace(/<script[\s\S]*?<\/script>/g, '')).not.toContain('\u202e');
    expect(JSON.parse(insides(page, 'script').at(-2) as string).strings).toContain(EVIL);
  });
});

describe('a chunk of texts', () => {
  it('holds each text once, and says what differs', () => {
    const chunk = textsChunk();
    chunk.add(TEXTS);
    const size = chunk.size;
    chunk.add({ ...TEXTS, other: { ...TEXTS, prediction: '' } });
    expect(chunk.size).toBe(size);
    const { strings, rows } = JSON.parse(chunk.json());
    expect(new Set(strings).size).toBe(strings.length);
    expect(rows[0]).toMatchObject({ steps: [1, ['-', 1], ['+', 1]], weaknesses: ['wrong'] });
    expect(strings[rows[0].history[1]]).toBe('seen');
    expect(rows[1].other).not.toHaveProperty('prediction');
  });

  it('keeps every text to the last unit, whatever it holds', () => {
    const chunk = textsChunk();
    const texts = ['</script>', '\u0000\u001b[2J', '\ud800 alone', '\u2028', '\r\n\r', '\\u003c'];
    for (const truth of texts) chunk.add({ ...TEXTS, truth });
    const { strings, rows } = JSON.parse(Buffer.from(chunk.json(), 'utf8').toString('utf8'));
    expect(rows.map((row: { truth: number }) => strings[row.truth])).toEqual(texts);
  });
});

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

  it('says beside the official figure what the model lost by failing', () => {
    const failed = { failed: 1, total: 0, failure: { class: 'refused', reason: 'no' } } as const;
    expect(pageOf(reportOf([rowOf(0), rowOf(1), rowOf(2, failed)]))).toContain('<br>with failures: 33.3');
    expect(pageOf(reportOf([rowOf(0), rowOf(1)]))).not.toContain('with failures:');
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
