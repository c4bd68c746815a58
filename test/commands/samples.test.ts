// `awb samples` end to end: what is printed about which samples, and what is refused.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SAMPLES } from '../../src/cli/samples.js';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { keyOf, type MadeRow, sampleRun } from '../support/sample-runs.js';

const EVIL = '\u001b]0;owned\u0007\u202eok';
const FACTS = [
  { claim: 'the line is 2', kind: 'determined', met: false },
  { claim: 'there is an end', kind: 'determined', met: true },
] as const;
const ROWS: readonly MadeRow[] = [
  { turn: 1, rated: 4 },
  { turn: 2, rated: 2, facts: FACTS, weaknesses: [`vague ${EVIL}`], flags: ['truncated'] },
  { turn: 3, rated: 'empty' },
  { domain: 'web', trajectory: 'b', rated: { factuality: 4 }, gen: `${EVIL}\n${'line\n'.repeat(20)}` },
];
const BEFORE: readonly MadeRow[] = [
  { turn: 1, rated: 1 },
  { turn: 2, rated: 3 },
  { turn: 3, rated: 5 },
];

let dir: string;
beforeAll(async () => {
  dir = await temporaryFolder();
  for (const [label, rows] of [
    ['step-100', BEFORE],
    ['step-200', ROWS],
  ] as const) {
    const file = await sampleRun(join(dir, label), rows);
    const { code, stderr } = await awb(['score', file, '--label', label, '--min-coverage', '0'], { cwd: dir });
    if (code !== EXIT.done) throw new Error(stderr);
  }
});

const samples = (...words: string[]) => awb(['samples', ...words], { cwd: dir });

/** The document that the command prints. */
async function documentOf(...words: string[]) {
  const { stdout, stderr, code } = await samples(...words, '--json');
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return SAMPLES.parse(JSON.parse(stdout));
}
const keysOf = async (...words: string[]) => (await documentOf(...words)).samples.map(({ key }) => key);

describe('the text', () => {
  it('has a block for each sample, the worst first, each text cut to a few lines', async () => {
    const { stdout, stderr } = await samples('step-200');
    expect(stderr).toBe('');
    expect(stdout.replace(/ {2}key [0-9a-f]{24}/g, '  key KEY')).toMatchInlineSnapshot(`
      "Terminal · trajectory 1 · turn 3  0.0
        failed: empty: empty: nothing came
        action
        | **Action:** step 3 of a
        truth
        | line 3 of a
        | end
        no prediction
        key KEY

      Terminal · trajectory 1 · turn 2  25.0
        Format 2, Factuality 2, Consistency 2, Realism 2, Quality 2
        flags: truncated
        action
        | **Action:** step 2 of a
        truth
        | line 2 of a
        | end
        prediction
        | line 2 of a
        | fin
        not met: the line is 2
        weakness: vague ok
        key KEY

      Terminal · trajectory 1 · turn 1  75.0
        Format 4, Factuality 4, Consistency 4, Realism 4, Quality 4
        action
        | **Action:** step 1 of a
        truth
        | line 1 of a
        | end
        prediction
        | line 1 of a
        | fin
        key KEY

      Web · trajectory 2 · turn 1  95.0
        Format 5, Factuality 4, Consistency 5, Realism 5, Quality 5
        action
        | **Action:** step 1 of b
        truth
        | line 1 of b
        | end
        prediction
        | ok
        | line
        | line
        | line
        | line
        | line
        | line
        | line
        | … 13 more lines
        key KEY

      4 of 4 samples
      "
    `);
    expect(stdout).toContain(`key ${keyOf({ turn: 3 })}`);
  });

  it('shows as many as --worst says, and says how to see all', async () => {
    const { stdout } = await samples('step-200', '--worst', '1');
    expect(stdout).toContain('turn 3');
    expect(stdout).not.toContain('turn 2');
    expect(stdout.trimEnd()).toMatch(/\n1 of 4 samples; --worst 4 shows all$/);
    expect((await samples('step-200', '--filter', 'text=nowhere')).stdout).toBe('no sample matches\n');
  });

  it('against another run shows the change, the largest first', async () => {
    const { stdout } = await samples('step-200', '--compare', 'step-100');
    const heads = stdout.split('\n').filter((line) => /^\S.*turn/.test(line));
    expect(heads).toEqual([
      'Terminal · trajectory 1 · turn 3  0.0 (-100.0)',
      'Terminal · trajectory 1 · turn 1  75.0 (+75.0)',
      'Terminal · trajectory 1 · turn 2  25.0 (-25.0)',
      'Web · trajectory 2 · turn 1  95.0',
    ]);
  });
});

describe('the document', () => {
  it('has the complete texts, and what the judge found', async () => {
    const { run, compare, found, samples: shown } = await documentOf('step-200', '--worst', '2');
    expect({ run, compare, found }).toEqual({
      run: { name: 'step-200', source: join(dir, 'step-200/judged.jsonl') },
      compare: null,
      found: 4,
    });
    expect(shown).toEqual([
      expect.objectContaining({
        ...{ key: keyOf({ turn: 3 }), score: 0, failure_class: 'empty', failure_reason: 'empty: nothing came' },
        ...{ prediction: null, reply: null, facts: null, figures: {}, change: null },
      }),
      {
        ...{ key: keyOf({ turn: 2 }), repeat: 0, judgement: 0, name: 'Terminal · trajectory 1 · turn 2' },
        ...{ domain: 'terminal', trajectory: 't-a', turn: 2, score: 25, change: null },
        figures: { Format: 2, Factuality: 2, Consistency: 2, Realism: 2, Quality: 2 },
        ...{ flags: ['truncated'], failure_class: null, failure_reason: null, facts: FACTS },
        ...{ strengths: ['fluent'], weaknesses: [`vague ${EVIL}`] },
        ...{ action: '**Action:** step 2 of a', truth: 'line 2 of a\nend' },
        ...{ prediction: 'line 2 of a\nfin', reply: '<think>hm</think>line 2 of a\nfin' },
      },
    ]);
  });

  it.each<[readonly string[], readonly MadeRow[]]>([
    [['domain=web'], [{ domain: 'web', trajectory: 'b' }]],
    [
      ['rating=wrong', 'sort=turn'],
      [{ turn: 1 }, { turn: 2 }, { turn: 3 }, { domain: 'web', trajectory: 'b' }],
    ],
    [['fact=some'], [{ turn: 2 }]],
    [['failure=empty'], [{ turn: 3 }]],
    [['text=vague'], [{ turn: 2 }]],
  ])('contains what --filter %s leaves', async (filters, rows) => {
    expect(await keysOf('step-200', ...filters.flatMap((one) => ['--filter', one]))).toEqual(rows.map(keyOf));
  });

  it('contains the same for a judged file, and for changes against another run', async () => {
    const filter = ['--compare', 'step-100', '--filter', 'change=worse'];
    expect(await keysOf('step-200', ...filter)).toEqual([keyOf({ turn: 3 }), keyOf({ turn: 2 })]);
    expect(await keysOf(join(dir, 'step-200'))).toEqual(await keysOf('step-200'));
  });
});

it.each([
  [['--filter', 'domian=web'], 'awb: unknown --filter domian; did you mean "domain"?'],
  [['--filter', 'domain=wep'], 'awb: unknown --filter domain=wep; did you mean "web"?'],
  [['--filter', 'change=worse'], 'awb: --filter change needs --compare RUN'],
  [['--filter', 'rating=lapse'], 'unknown --filter rating=lapse; known: low, fair, good, high, failed, wrong'],
])('%s is refused with what is known', async (words, message) => {
  const { code, stderr, stdout } = await samples('step-200', ...words);
  expect({ code, stdout }).toEqual({ code: EXIT.usage, stdout: '' });
  expect(stderr).toContain(message);
});

it('a run whose file is gone says where it was', async () => {
  const file = await sampleRun(join(dir, 'gone'), ROWS);
  await awb(['score', file, '--label', 'gone'], { cwd: dir });
  await rm(file);
  const { code, stderr } = await samples('gone');
  expect(code).toBe(EXIT.inputMissing);
  expect(stderr).toContain('gone/judged.jsonl');
});
