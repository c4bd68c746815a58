// A gate's JSON report.

import { describe, expect, it } from 'vitest';
import { gateJson } from '../../../src/report/gate.js';
import { advisedPage, HOSTILE, hostilePage } from '../../support/gate-pages.js';

describe.each(HOSTILE)('hostile text %j', (text) => {
  const hostile = hostilePage(text);

  it('stays text in JSON, and is no command for the runner', () => {
    const json = gateJson(hostile);
    expect(json).toMatch(/^[\x20-\x7e]*\n$/);
    expect(json).not.toContain('##[');
    expect(JSON.parse(json).summary).toBe(text);
  });
});

it('advice is not a verdict', () => {
  expect(JSON.parse(gateJson(advisedPage()))).toMatchObject({
    verdict: 'ADVICE',
    advice: { verdict: 'NO-GO', against: 1 },
  });
});
