// A gate's JUnit XML: what fails in it, and no text that acts as markup.

import { describe, expect, it } from 'vitest';
import { junit } from '../../../src/report/gate.js';
import { advisedPage, condition, gatePage, HOSTILE, hostilePage, rule } from '../../support/gate-pages.js';

describe('JUnit', () => {
  it.each([
    ['GO', true, ''],
    ['NO-GO', true, 'failure'],
    ['INCONCLUSIVE', true, 'skipped'],
    ['INCOMPLETE', true, 'error'],
  ] as const)('%s that counts (%s) is %j', (verdict, counts, outcome) => {
    const xml = junit(gatePage([rule({ verdict, counts })]));
    expect(['failure', 'error', 'skipped'].filter((name) => xml.includes(`<${name} `))).toEqual(
      outcome === '' ? [] : [outcome],
    );
  });

  it('has a suite for each domain, one for Overall and one for the run, whose counts add up', () => {
    const xml = junit(
      gatePage([
        rule({ verdict: 'NO-GO' }),
        condition({ domain: 'web' }),
        rule({ domain: 'web', verdict: 'NO-GO' }),
        condition(),
      ]),
    );
    expect([...xml.matchAll(/<testsuite name="(\w+)" tests="(\d)" failures="(\d)"/g)].map((m) => m.slice(1))).toEqual([
      ['overall', '1', '1'],
      ['web', '2', '1'],
      ['run', '1', '0'],
    ]);
    expect(xml).toContain('<testsuites name="awb gate: NO-GO" tests="4" failures="2" errors="0" skipped="0"');
  });

  it('of advice contains only skipped tests', () => {
    const xml = junit(advisedPage());
    expect(xml).toContain('<testsuites name="awb gate: ADVICE" tests="2" failures="0" errors="0" skipped="2"');
    expect(xml.match(/<skipped message="[^"]*"/g)).toEqual([
      '<skipped message="ADVICE: Behind."',
      '<skipped message="ADVICE: Not behind."',
    ]);
  });
});

describe.each(HOSTILE)('hostile text %j', (text) => {
  const hostile = hostilePage(text);

  it('stays text in XML', () => {
    const xml = junit(hostile);
    expect(tagsOf(xml)).toEqual(tagsOf(junit(hostilePage('harmless'))));
    expect(xml).not.toMatch(/[\x00-\x09\x0b-\x1f\ufffe\uffff]/);
  });
});

/** Every tag without its attributes; throws if they are not balanced. */
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
