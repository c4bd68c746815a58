// The bill as terminal text: what is known, what is not, and where each figure comes from.

import { describe, expect, test } from 'vitest';
import type { Bill, BillDocument, Charges } from '../../../src/run/bill.js';
import { billText } from '../../../src/run/bill-text.js';

const LOOK = { columns: 80, color: false };
const FROM = { runs: ['runs/a/predictions.manifest.json'], models: ['wm'] };

const charges: Charges = {
  ...{ rows: 2_170, calls: 2_170, characters: 290_000_000, prompt_tokens: 73_012_345, cached_tokens: 36_506_173 },
  output_tokens: { expected: 9_876_543, at_least: 0, at_most: 71_106_560 },
  usd: { expected: 266.041, at_least: 127.77, at_most: 1_123.26 },
  usd_cached: { expected: 208.54, at_least: 70.27, at_most: 1_065.76 },
};

const DOCUMENT: BillDocument = {
  ...{ schema: 'awb.cost-estimate/1', kind: 'infer', model: 'gpt-5.2', hosts: ['api.openai.com'], max_tokens: 32_768 },
  rows: { chosen: 2_200, done: 30, without_call: 0, absent: 1, to_ask: 2_170 },
  domains: [
    { domain: 'mcp', ...charges },
    { domain: 'terminal', ...charges },
  ],
  total: charges,
  tokens_by: { by: 'measured', characters_per_token: 3.607, calls: 41, ...FROM },
  output_by: { by: 'measured', rows: 41, ...FROM, guessed_domains: ['terminal'] },
  price: {
    model: 'openai/gpt-5.2',
    source: 'genai-prices 0.1.8 of 2026-09-23',
    input: 1.75,
    cached: 0.175,
    output: 14,
  },
  time: { seconds: 7_260, at_least: false, by: 'measured', per_minute: 17.93, ...FROM },
  measured_cache: { share: 0.25, usd: 237.29, ...FROM },
  ...{ asked_again: null, budget: null, servers: [], overlong: [], notes: [] },
};

const billOf = (document: Partial<BillDocument> = {}): Bill => ({
  document: { ...DOCUMENT, ...document },
  asksAgent: false,
  overlong: undefined,
});

/** The text with its line breaks removed. */
const flowing = (bill: Bill) => billText(bill, LOOK).replace(/\s+/g, ' ');

describe('the text', () => {
  test('shows each domain and the total, within 80 columns', () => {
    const text = billText(billOf(), LOOK);
    expect(flowing(billOf())).toMatch(
      /^World model gpt-5\.2, api\.openai\.com: 2,201 rows, 30 done, 1 that cannot be asked, 2,170 to ask /,
    );
    expect(text).toMatch(/\nAll +2,170 +2,170 +73M +36\.5M +9\.88M +\$266\.04 +\$208\.54\n/);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('says "Agent" instead of "Judge" if an agent is asked', () => {
    const bill = billOf({ kind: 'judge' });
    expect(flowing(bill)).toMatch(/^Judge gpt-5\.2, /);
    expect(flowing({ ...bill, asksAgent: true })).toMatch(/^Agent gpt-5\.2, /);
  });

  test('gives the source of each figure', () => {
    const text = flowing(billOf());
    expect(text).toContain('290,000,000 characters, 3.61 per token, as earlier runs measured.');
    expect(text).toContain('thinking included: the mean of 41 rows of earlier runs');
    expect(text).toContain('$1.75 in, $0.175 cached, $14 out; genai-prices 0.1.8 of 2026-09-23, openai/gpt-5.2.');
    expect(text).toContain('Cached: 50 % of that');
    expect(text).toContain('it was 25 %, which makes $237.29.');
    expect(text).toContain('At most $1,123.26');
    expect(text.match(/runs\/a\/predictions\.manifest\.json/g)).toHaveLength(1);
    expect(text).toContain('17.9 calls a minute, as in earlier runs');
  });

  test('says "unknown" for what is not known', () => {
    const unpriced = { ...charges, usd: null, usd_cached: null };
    const known = { total: unpriced, domains: [{ domain: 'mcp', ...unpriced }], output_by: { by: 'truth' } as const };
    const text = flowing(billOf({ ...known, price: null, time: null, measured_cache: null, tokens_by: GUESS }));
    expect(text).toMatch(/ MCP 2,170 2,170 73M 36\.5M 9\.88M unknown /);
    expect(text).toContain('4 per token, a guess; --tokenizer FILE counts them.');
    expect(text).not.toContain('arlier run');
    expect(text).toContain('Price: unknown; give it with --prices FILE.');
    expect(text).toContain('Time: unknown; --rate N');
    expect(text).not.toContain('$');
  });

  test.each([
    [
      'the ground truths',
      { by: 'truth' },
      'Output: 9,876,543 tokens, the length of the ground truths, without thinking',
    ],
    ['a guess', { by: 'guess', tokens_per_call: 600 }, 'Output: 9,876,543 tokens, 600 for each call, without thinking'],
  ] as const)('says that the output is estimated from %s, and how to get a better estimate', (_, output_by, words) => {
    const text = flowing(billOf({ output_by }));
    expect(text).toContain(words);
    expect(text).toContain('(--estimate-from RUN uses what a run measured); at most 71,106,560 (--max-tokens).');
  });

  test('shows names of servers and files without anything that could control the terminal', () => {
    const hostile = '\x1b]0;owned\x07wm\x1b[2J\n\u202eevil';
    const from = { runs: [hostile], models: [hostile] };
    const bill = billOf({
      ...{ model: hostile, hosts: [hostile], notes: [hostile], tokens_by: { by: 'tokenizer', file: hostile } },
      domains: [{ domain: hostile, ...charges }],
      output_by: { by: 'measured', rows: 1, guessed_domains: [hostile], ...from },
      servers: [{ host: hostile, model: null, context_tokens: 4_096 }],
    });
    const text = billText(bill, LOOK);
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\u202e]/);
    expect(text).toContain('says 4,096 tokens');
  });

  test.each([
    [0, '0 s'],
    [59, '59 s'],
    [90, '1 min 30 s'],
    [3_599, '59 min 59 s'],
    [200_000, '2 d 7 h'],
  ])('writes %d seconds as %s', (seconds, words) => {
    expect(flowing(billOf({ time: { seconds, at_least: true, by: 'rpm', per_minute: 500 } }))).toContain(
      `Time: at least ${words}; limited to 500 calls a minute (--rpm).`,
    );
  });
});

const GUESS = { by: 'guess', characters_per_token: 4 } as const;
