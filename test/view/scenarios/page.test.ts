// The page of a run on scenarios: what it says of figures and samples, and what nothing in it can do.

import { describe, expect, it } from 'vitest';
import type { ScenarioFigures } from '../../../src/stats/scenarios.js';
import type { ScenarioSample as ShownSample } from '../../../src/view/documents.js';
import { type ScenarioReport, scenarioPage } from '../../../src/view/scenario-page.js';
import { EVIL, sha256 } from '../../support/reports.js';

const followed = { value: 70, rows: 40, clusters: 20, se: 7.25, df: 18.5, low: 53.5, high: 82.5 };
const leaked = { value: 10, rows: 40, clusters: 20, se: 3, df: 18, low: 5, high: 19 };
const part = {
  samples: 40,
  trajectories: 20,
  failures: { refused: 2 },
  followed,
  leaked,
  undisturbed: null,
  twin_false_positives: null,
};
const figuresOf = (scenario: string): ScenarioFigures => ({
  schema: 'awb.scenarios/1',
  overall: part,
  domains: { web: part },
  scenarios: { [scenario]: { ...part, domains: {} } },
});

const sampleOf = (change: Partial<ShownSample> = {}): ShownSample => ({
  scenario: 'power-cut',
  domain: 'web',
  id: '17',
  turn: 3,
  instruction: 'The power fails.',
  steps: [
    {
      action: 'click("a")',
      prediction: 'POWER CUT\nall dark',
      twin: 'all well',
      verdicts: [
        { verifier: 'contains', met: true, why: 'it says "POWER CUT"' },
        { verifier: 'never', met: true, why: 'it gives nothing away' },
      ],
    },
  ],
  measures: { followed: 100, leaked: 0, undisturbed: 50, twin_false_positives: 0 },
  failure: undefined,
  ...change,
});

const reportOf = (samples: ShownSample[], change: Partial<ScenarioReport> = {}): ScenarioReport => ({
  name: 'step-100',
  facts: [['suite', 'standard']],
  warnings: [],
  figures: figuresOf('power-cut'),
  samples,
  leftOut: 0,
  ...change,
});

const pageOf = (...given: Parameters<typeof reportOf>) => scenarioPage(reportOf(...given), 'awb 0', sha256);
const textOf = (page: string) =>
  page
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');

describe('the page of a run on scenarios', () => {
  it('allows its own style by its hash, and neither a script nor a request', () => {
    const page = pageOf([sampleOf()]);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
    expect(policy).toContain(`style-src 'sha256-${sha256(style)}'`);
    expect(policy).not.toMatch(/script-src|unsafe|https?:|\*/);
    expect(page).not.toMatch(/<script| style=| on[a-z]+=/);
  });

  it('leads with what was followed and leaked, each with its interval, and with what failed', () => {
    const text = textOf(pageOf([sampleOf()], { warnings: ['INCOMPLETE: half of it.'] }));
    expect(text).toContain('Followed 70.0 95 %: 53.5 to 82.5 Leaked 10.0 95 %: 5.0 to 19.0 Undisturbed – no interval');
    expect(text).toContain('Rows 40 20 trajectories, 1 domains failed: refused 2');
    expect(text).toContain('INCOMPLETE: half of it.');
    expect(text).toContain('power-cut 40 70.0 53.5 to 82.5 10.0 5.0 to 19.0 – –');
  });

  it('shows of a sample the instruction, the action, the verdicts, and both predictions side by side', () => {
    const text = textOf(pageOf([sampleOf()]));
    expect(text).toContain('Web 17, turn 3 followed undisturbed 50 % Instruction The power fails.');
    expect(text).toContain('Action click(&quot;a&quot;) contains met : it says &quot;POWER CUT&quot; nothing leaked');
    expect(text).toContain('Without the instruction all well With the instruction POWER CUT all dark');
  });

  it('puts what was not followed, or leaked, before what was', () => {
    const wrong = sampleOf({ id: 'wrong', measures: { followed: 0, leaked: 100, twin_false_positives: 100 } });
    const text = textOf(pageOf([sampleOf({ id: 'right' }), wrong]));
    expect(text).toContain('power-cut 2 rows, 1 not followed or leaked');
    expect(text.indexOf('Web wrong')).toBeLessThan(text.indexOf('Web right'));
    expect(text).toContain('not followed leaked its twin would count as following');
  });

  it('names every step of several, and why a step has no prediction', () => {
    const [step] = sampleOf().steps;
    const steps = [step, { action: 'look', prediction: undefined, twin: '', verdicts: [] }] as ShownSample['steps'];
    const text = textOf(pageOf([sampleOf({ steps, failure: 'refused: the model said no' })]));
    expect(text).toContain('refused: the model said no');
    expect(text).toContain('Step 2: Action look Without the instruction empty With the instruction not known');
  });

  it('cuts a text that is very long, and says how many samples it has no room for', () => {
    const [step] = sampleOf().steps;
    const steps = [{ ...step, prediction: `${'x'.repeat(20_000)}END` }] as ShownSample['steps'];
    const text = textOf(pageOf([sampleOf({ steps })], { leftOut: 12 }));
    expect(text).toContain('and 3 more characters');
    expect(text).not.toContain('END');
    expect(text).toContain('Of 12 more the page has no room for the texts (--inline-limit).');
  });

  it('lets no text of a model, a suite or a user steer it', () => {
    const verdicts = [{ verifier: EVIL, met: false, why: EVIL }];
    const sample = sampleOf({
      scenario: EVIL,
      domain: EVIL,
      id: EVIL,
      instruction: EVIL,
      steps: [{ action: EVIL, prediction: `a\n${EVIL}`, twin: EVIL, verdicts }],
      failure: EVIL,
    });
    const evil = reportOf([sample], {
      name: EVIL,
      facts: [[EVIL, EVIL]],
      warnings: [EVIL],
      figures: figuresOf(EVIL),
    });
    const page = scenarioPage(evil, EVIL, sha256);
    expect(page).not.toMatch(/<img|<script|<!--|\u202e/);
    expect(page.match(/&lt;img/g)?.length).toBeGreaterThan(10);
  });
});
