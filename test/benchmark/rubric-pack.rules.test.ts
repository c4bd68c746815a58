// The rules of the bundled pack: each has a case, and no two contradict each other.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadRubricPack } from '../../src/benchmark/rubric-pack.js';
import { DIMENSIONS, DOMAINS } from '../../src/core/types.js';
import { RECORDED, ROOT } from '../support/cli.js';

interface Case {
  readonly rule: string;
  /** `common`, or the domain whose text has the rule. */
  readonly place: string;
  readonly truth: string;
  readonly prediction: string;
  readonly says: string;
  readonly situation?: Readonly<Record<string, string>>;
  readonly caps?: Readonly<Record<string, number>>;
}

const PACK = join(ROOT, 'rubrics/awb-3');
const PLACES = ['common', ...DOMAINS];
const textOf = (place: string) => readFileSync(join(PACK, `${place}.txt`), 'utf8');
const cases: readonly Case[] = JSON.parse(readFileSync(join(PACK, 'cases.json'), 'utf8')).cases;

/** The rules of a text: lines that begin with an id in brackets. */
const rules = PLACES.flatMap((place) =>
  Array.from(textOf(place).matchAll(/^- \[([a-z-]+)\] (.+)$/gm), ([, id = '', text = '']) => ({ id, place, text })),
);
/** What a rule's text limits, by dimension. */
function capsIn(text: string): Record<string, number> {
  const caps: Record<string, number> = {};
  for (const [, what = '', most] of text.matchAll(/(\w+(?: dimension)?) ([1-5]) at most\b/g)) {
    for (const dimension of what === 'every dimension' ? DIMENSIONS : [what]) caps[dimension] = Number(most);
  }
  return caps;
}
const limits = rules.filter(({ text }) => / at most\b/.test(text));

describe('every rule', () => {
  test('has an id of its own and a case, and every case has its rule', () => {
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    expect(rules.length).toBeGreaterThan(50);
    const named = (list: readonly { id: string; place: string }[]) =>
      list.map(({ id, place }) => `${place} ${id}`).sort();
    expect(named(cases.map(({ rule, place }) => ({ id: rule, place })))).toEqual(named(rules));
    for (const { truth, prediction, says } of cases) {
      expect(truth).not.toBe(prediction);
      expect(says).not.toBe('');
    }
  });

  test('that is a bullet under Rules or under a heading of rules bears an id', () => {
    for (const place of PLACES) {
      for (const heading of ['## Rules', '# Limits', '# What counts, and how much']) {
        const section = textOf(place).split(`${heading}\n`)[1]?.split(/^#+ /m)[0] ?? '';
        for (const line of section.split('\n').filter((text) => text.startsWith('- '))) {
          expect(line).toMatch(/^- \[[a-z-]+\] /);
        }
      }
    }
  });

  test('that is named elsewhere exists', () => {
    const ids = new Set(rules.map(({ id }) => id));
    for (const place of PLACES) {
      for (const [, id = ''] of textOf(place).matchAll(/\[([a-z]+(?:-[a-z]+)+)\]/g)) expect(ids).toContain(id);
    }
  });
});

describe('limits', () => {
  test('are set in only one place: no other sentence of the pack sets one', () => {
    expect(limits.every(({ place }) => place === 'common')).toBe(true);
    const section = textOf('common').split('# Limits\n')[1]?.split('\n# ')[0] ?? '';
    const inRules = limits.flatMap(({ text }) => Array.from(text.matchAll(/[1-5] at most/g))).length;
    expect(Array.from(section.matchAll(/[1-5] at most/g))).toHaveLength(inRules);
    const everywhere = PLACES.flatMap((place) =>
      Array.from(textOf(place).matchAll(/\b(?:[1-5] at most|at most [1-5]|not above [1-5])\b/g)),
    );
    expect(everywhere).toHaveLength(inRules);
  });

  test.each(limits)('of $id are those of its case', ({ id, text }) => {
    const { caps, situation } = cases.find(({ rule }) => rule === id) ?? {};
    expect(Object.keys(capsIn(text)).length).toBeGreaterThan(0);
    for (const dimension of Object.keys(capsIn(text))) expect(DIMENSIONS).toContain(dimension);
    expect(caps).toEqual(capsIn(text));
    expect(Object.keys(situation ?? {}).length).toBeGreaterThan(0);
  });

  test('of two rules for the same situation are the same', () => {
    const limited = cases.filter(({ caps }) => caps !== undefined);
    for (const one of limited) {
      for (const other of limited) {
        const [a, b] = [one.situation ?? {}, other.situation ?? {}];
        const isCompatible = Object.entries(a).every(([key, value]) => (b[key] ?? value) === value);
        if (!isCompatible) continue;
        for (const dimension of DIMENSIONS) {
          const [first, second] = [one.caps?.[dimension], other.caps?.[dimension]];
          if (first !== undefined && second !== undefined) expect([one.rule, first]).toEqual([one.rule, second]);
        }
      }
    }
    expect(textOf('common')).toContain('Where several apply, the lowest holds.');
  });

  test('know each way in which an outcome can be open, and no domain says otherwise', () => {
    const open = limits.filter(({ id }) => cases.find(({ rule }) => rule === id)?.situation?.outcome === 'open');
    expect(open.map(({ id, text }) => [id, capsIn(text)])).toEqual([
      ['open-clue', { factuality: 2 }],
      ['open-branch', { factuality: 3 }],
    ]);
    for (const domain of DOMAINS) {
      const factuality = textOf(domain).split('## Factuality\n')[1]?.split('\n## ')[0] ?? '';
      const second = /(?:^|\. )2: (.*?)(?=(?: 1: )|$)/ms.exec(factuality)?.[1] ?? '';
      // Level 2 of outcomes speaks of determined ones alone: open ones have their limit.
      expect(second).toMatch(/determined/);
    }
  });
});

describe('a worked case', () => {
  test.each(DOMAINS)('of %s rates all five dimensions, within the limits that it names', (domain) => {
    const worked = textOf(domain).split('## Worked case\n')[1] ?? '';
    const scores = DIMENSIONS.map((dimension) => Number(new RegExp(`\\b${dimension} ([1-5])\\b`).exec(worked)?.[1]));
    for (const score of scores) expect(score).toBeGreaterThanOrEqual(1);
    expect(worked).toMatch(/\(determined, not met\)/);
    for (const [, id] of worked.matchAll(/\[([a-z]+-[a-z-]+)\]/g)) {
      const caps = capsIn(rules.find((rule) => rule.id === id)?.text ?? '');
      for (const [at, dimension] of DIMENSIONS.entries()) {
        expect(scores[at]).toBeLessThanOrEqual(caps[dimension] ?? 5);
      }
    }
  });

  test('comes from no recorded row', () => {
    const recorded = readdirSync(RECORDED)
      .map((file) => readFileSync(join(RECORDED, file), 'utf8'))
      .join('\n');
    const texts = [
      ...DOMAINS.map((domain) => textOf(domain).split('## Worked case\n')[1] ?? ''),
      ...cases.flatMap(({ truth, prediction }) => [truth, prediction]),
    ];
    for (const text of texts) {
      for (let at = 0; at + 30 <= text.length; at += 5) expect(recorded.includes(text.slice(at, at + 30))).toBe(false);
    }
  });
});

test.each(DOMAINS)('a judge of %s is told at most 12,500 characters', async (domain) => {
  const prompt = (await loadRubricPack('awb-3')).systemPrompt(domain) ?? '';
  expect(prompt.length).toBeGreaterThan(8_000);
  expect(prompt.length).toBeLessThanOrEqual(12_500);
});
