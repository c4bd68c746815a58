// What the gate writes for CI: within its limits, and with no text that acts.

import { describe, expect, it } from 'vitest';
import type { RuleResult } from '../../src/decision.js';
import { ANNOTATION_LIMIT, annotations, gateJson, jobSummary, junit } from '../../src/report/ci.js';
import { type GatePage, gateText } from '../../src/report/page/gate.js';

function rule(more: Partial<RuleResult> = {}): RuleResult {
  return { kind: 'drop', tier: 'critical', verdict: 'GO', counts: true, impact: 0, sentence: 'It holds.', ...more };
}

function page(rules: readonly RuleResult[], more: Partial<GatePage> = {}): GatePage {
  return {
    verdict: 'NO-GO',
    exitCode: 4,
    summary: 'NO-GO: it fell.',
    rules,
    advisoryOnly: false,
    policy: { from: 'gate.yaml', fingerprint: 'f'.repeat(64), rules: { alpha: 0.05 } },
    base: { name: 'a', source: '/a' },
    candidate: { name: 'b', source: '/b', judge: 'j' },
    level: { alpha: 0.05, sentence: 'GO as it is shown.' },
    further: [],
    notes: [],
    ...more,
  };
}

/** Texts that act where they are not escaped. */
const HOSTILE = [
  '::error::pwned',
  '\n::set-output name=x::y',
  '%0A::error::pwned',
  'x\r\n::warning::y',
  ' \u2028::stop-commands::z',
  '##[error]pwned',
  '\x1b]0;title\x07\x1b[31mred',
  '</testcase><failure/>&"\'',
  '<script>alert(1)</script>',
  '| a | b |',
  '[link](javascript:alert(1)) @everyone https://evil.example',
  '`code` **bold** <!-- x',
  'left\u202eright\ufffe\uffff\u0000',
  '\ud800',
];

function hostilePage(text: string): GatePage {
  const rules = [
    rule({ domain: text, verdict: 'NO-GO', sentence: text, impact: 3 }),
    rule({ kind: 'floor', domain: text, verdict: 'INCONCLUSIVE', sentence: `${text} changed` }),
    rule({ domain: text, verdict: 'NO-GO', tier: 'advisory', counts: false, sentence: text }),
  ];
  const run = { name: text, source: text, judge: text, rubricPack: text };
  const policy = { from: text, fingerprint: 'f'.repeat(64), rules: {} };
  return page(rules, { summary: text, base: run, candidate: run, notes: [text], policy });
}

describe.each(HOSTILE)('hostile text %j', (text) => {
  const hostile = hostilePage(text);

  it('brings no annotation but the three it stands in', () => {
    const lines = annotations(hostile).split('\n');
    expect(lines.map((line) => /^::(error|warning|notice) title=[^:,]*::/.exec(line)?.[1])).toEqual([
      'error',
      'warning',
      'notice',
      undefined,
    ]);
    expect(lines.at(-1)).toBe('');
    expect(lines.join('')).not.toMatch(/%0A|##\[|[\r\x1b]/);
  });

  it('stays text in XML', () => {
    const xml = junit(hostile);
    expect(tagsOf(xml)).toEqual(tagsOf(junit(hostilePage('harmless'))));
    expect(xml).not.toMatch(/[\x00-\x09\x0b-\x1f\ufffe\uffff]/);
  });

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

  it('stays text in JSON, and no command of the runner', () => {
    const json = gateJson(hostile);
    expect(json).toMatch(/^[\x20-\x7e]*\n$/);
    expect(json).not.toContain('##[');
    expect(JSON.parse(json).summary).toBe(text);
  });
});

/** Every tag without its attributes; throws where they are not balanced. */
function tagsOf(xml: string): string[] {
  const open: string[] = [];
  const names: string[] = [];
  for (const [, close, name, attributes] of xml.matchAll(/<(\/?)([a-z-]+)((?:\s+[a-z]+="[^"<]*")*\s*\/?)>/g)) {
    names.push(name as string);
    if (close === '/') expect(open.pop()).toBe(name);
    else if (!attributes?.endsWith('/')) open.push(name as string);
  }
  expect(open).toEqual([]);
  return names;
}

describe('annotations', () => {
  it('rank by impact, ten of a kind at most, and say how many more there are', () => {
    const rules = Array.from({ length: 25 }, (_, impact) =>
      rule({ domain: `d${impact}`, verdict: 'NO-GO', impact, sentence: `fell by ${impact}` }),
    );
    const lines = annotations(page(rules)).trimEnd().split('\n');
    expect(lines).toHaveLength(ANNOTATION_LIMIT);
    expect(lines.slice(0, 2).map((line) => line.split('::')[2])).toEqual(['fell by 24', 'fell by 23']);
    expect(lines.at(-1)).toBe('::error title=awb gate::16 more; the job summary has them all.');
  });

  it('exactly ten are all shown', () => {
    const rules = Array.from({ length: 10 }, () => rule({ verdict: 'INCOMPLETE' }));
    expect(annotations(page(rules))).not.toContain('more;');
  });

  it('a GO is a notice, and what holds or does not count is no error', () => {
    const rules = [rule(), rule({ tier: 'supporting', counts: false, verdict: 'INCONCLUSIVE' })];
    expect(annotations(page(rules, { verdict: 'GO', summary: 'GO: it holds.' }))).toBe(
      '::notice title=awb gate%3A GO::GO: it holds.\n',
    );
  });
});

describe('in a terminal', () => {
  const long = `It fell by much: ${'everywhere and anywhere '.repeat(9)}.`;
  const rules = [
    rule({ verdict: 'NO-GO', value: -3, low: -4, high: -2.5, bound: -2, sentence: long }),
    rule({ domain: 'os', tier: 'supporting', counts: false, verdict: 'INCONCLUSIVE', value: -1, sentence: 'Open.' }),
    rule({ domain: 'web', kind: 'coverage', value: 1, bound: 0.99, sentence: 'All of it.' }),
  ];
  const shown = (columns: number, color = false) =>
    gateText(page(rules, { summary: `NO-GO: ${long}`, notes: ['A note.'] }), { columns, color });

  it('a headline, a table, the reasons: each sentence once, broken between words, within the width', () => {
    for (const columns of [60, 80, 120]) {
      const text = shown(columns);
      expect(text).toMatch(/^NO-GO: 1 of 2 rules broken\n\n/);
      expect(text).toMatch(/^Overall +-3\.00 +-4\.00 to -2\.50 +≥ -2\.00 +broken$/m);
      expect(text).toMatch(/^OS +-1\.00 .* \(open\)$/m);
      expect(text.match(/It fell by much/g)).toHaveLength(1);
      expect(text).not.toContain('Open.');
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
      const words = new Set(long.split(' '));
      const last = text.split('\n').filter((line) => /where/.test(line));
      expect(
        last.flatMap((line) => line.trim().replace(/^- /, '').split(' ')).filter((word) => !words.has(word)),
      ).toEqual([]);
    }
  });

  it('the headline alone is coloured as the verdict is', () => {
    expect(shown(80, true)).toMatch(/^\x1b\[1;31mNO-GO: 1 of 2 rules broken\x1b\[0m\n/);
  });
});

describe('advice', () => {
  const rules = [
    rule({ kind: 'published', tier: 'advisory', counts: false, verdict: 'NO-GO', sentence: 'Behind.' }),
    rule({ kind: 'published', domain: 'os', tier: 'advisory', counts: false, sentence: 'Not behind.' }),
  ];
  const advised = page(rules, {
    verdict: 'ADVICE',
    summary: 'ADVICE: would be NO-GO (1 of 2 rules broken)',
    advice: { verdict: 'NO-GO', against: 1, rules: 2 },
    advisoryOnly: true,
    exitCode: 0,
  });

  it('is never a GO or a NO-GO, whoever reads it', () => {
    expect(gateText(advised, { columns: 80, color: false })).toMatch(
      /^ADVICE: would be NO-GO \(1 of 2 rules broken\)\n/,
    );
    expect(JSON.parse(gateJson(advised))).toMatchObject({
      verdict: 'ADVICE',
      advice: { verdict: 'NO-GO', against: 1 },
    });
    expect(jobSummary(advised)).toMatch(/^## ADVICE: /);
    const xml = junit(advised);
    expect(xml).toContain('<testsuites name="awb gate: ADVICE" tests="2" failures="0" errors="0" skipped="2"');
    expect(xml.match(/<skipped message="[^"]*"/g)).toEqual([
      '<skipped message="ADVICE: Behind."',
      '<skipped message="ADVICE: Not behind."',
    ]);
    expect(annotations(advised)).toBe(
      '::notice title=awb gate%3A ADVICE::ADVICE: would be NO-GO (1 of 2 rules broken)\n' +
        '::notice title=awb gate%3A ADVICE%2C overall against published::Behind.\n',
    );
  });
});

describe('JUnit', () => {
  it.each([
    ['GO', true, ''],
    ['NO-GO', true, 'failure'],
    ['INCONCLUSIVE', true, 'skipped'],
    ['INCOMPLETE', true, 'error'],
  ] as const)('%s that counts (%s) is %j', (verdict, counts, outcome) => {
    const xml = junit(page([rule({ verdict, counts })]));
    expect(['failure', 'error', 'skipped'].filter((name) => xml.includes(`<${name} `))).toEqual(
      outcome === '' ? [] : [outcome],
    );
  });

  it('has a suite for each domain, one for Overall and one for the run, whose counts add up', () => {
    const xml = junit(
      page([
        rule({ verdict: 'NO-GO' }),
        rule({ domain: 'web', kind: 'coverage' }),
        rule({ domain: 'web', verdict: 'NO-GO' }),
        rule({ kind: 'identity', identity: 'judge' }),
      ]),
    );
    expect([...xml.matchAll(/<testsuite name="(\w+)" tests="(\d)" failures="(\d)"/g)].map((m) => m.slice(1))).toEqual([
      ['overall', '1', '1'],
      ['web', '2', '1'],
      ['run', '1', '0'],
    ]);
    expect(xml).toContain('<testsuites name="awb gate: NO-GO" tests="4" failures="2" errors="0" skipped="0"');
  });
});

describe('the job summary', () => {
  const many = page(
    Array.from({ length: 4000 }, (_, index) => rule({ verdict: 'NO-GO', sentence: `ß${'x'.repeat(900)} ${index}` })),
  );
  const bytes = (text: string) => Buffer.byteLength(text);

  it('stays within its limit, with the verdict in it, and says what it leaves out', () => {
    const summary = jobSummary(many);
    expect(bytes(summary)).toBeLessThanOrEqual(1024 * 1024);
    expect(summary).toMatch(/^## NO-GO: b against a\n\nNO-GO: 4000 of 4000 rules broken\n/);
    expect(summary).toContain('does not fit into the job summary');
  });

  it.each([0, 1, 50, 100, 200, 400, 1000])('of %d bytes at most is never longer', (limit) => {
    const summary = jobSummary(many, limit);
    expect(bytes(summary)).toBeLessThanOrEqual(limit);
    expect(summary === '' || summary.startsWith('## NO-GO')).toBe(true);
  });

  it('what fits is whole', () => {
    const summary = jobSummary(page([rule({ verdict: 'NO-GO', sentence: 'It fell.' })], { notes: ['a note'] }));
    for (const part of ['It fell.', '> a note', 'fingerprint ffffffffffff']) expect(summary).toContain(part);
    expect(summary).not.toContain('does not fit');
  });
});
