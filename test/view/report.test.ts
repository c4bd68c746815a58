// The HTML report's markup: what it holds, and what nothing in it can do.

import { describe, expect, it } from 'vitest';
import { aggregate } from '../../src/stats/aggregate.js';
import { collectTexts } from '../../src/view/texts.js';
import { EVIL, pageOf, reportOf, rowOf, script, sha256, TEXTS } from '../support/reports.js';

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
  const change = { difference: estimate, base: 1, candidate: 2, wins: 1, ties: 0, losses: 0 };
  const cost = { rows: 1, unpriced: 1, usage: { promptTokens: 1 }, usd: 1 };
  const evil = reportOf(rows, {
    run: { name: EVIL, facts: [[EVIL, EVIL]], card: aggregate(rows), trust: undefined },
    other: { name: EVIL, facts: [[EVIL, 'x']], card: aggregate(rows), trust: undefined },
    change: {
      domains: [{ domain: EVIL, ...change }],
      overall: change,
    },
    warnings: [EVIL],
    turns: [
      { name: EVIL, estimate },
      { name: 'x', estimate },
    ],
    contexts: [],
    costs: {
      judge: {
        price: { model: EVIL, source: EVIL, input: 1, output: 1 },
        total: cost,
        domains: new Map([[EVIL, cost]]),
      },
    },
    manifest: JSON.stringify({ evil: EVIL }),
    samples: rows.map((row) => ({ row, note: EVIL })),
  });
  const texts = collectTexts();
  texts.add({ ...TEXTS, prediction: EVIL, truth: EVIL, action: EVIL, weaknesses: [EVIL], judgeReply: EVIL });

  it('open no element in the page, close none, and hide nothing', () => {
    const page = pageOf(evil, texts, script, EVIL);
    const plain = pageOf(reportOf([rowOf(0)]));
    expect(page).not.toMatch(/<img|<!--|\u202e.*<\/title>/);
    expect(page.match(/<script/g)?.length).toBe(plain.match(/<script/g)?.length);
    expect(page.match(/<\/script/g)?.length).toBe(page.match(/<script/g)?.length);
    expect(page.replace(/<script[\s\S]*?<\/script>/g, '')).not.toContain('\u202e');
    expect(JSON.parse(insides(page, 'script').at(-2) as string).strings).toContain(EVIL);
  });
});
