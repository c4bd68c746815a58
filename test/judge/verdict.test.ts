// Reading verdicts: the official reading against the golden cases, the strict one against what it must refuse.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOfficialVerdict as readOfficially, readStrictVerdict } from '../../src/judge/verdict.js';
import { DIMENSIONS, type Verdict } from '../../src/types.js';

interface JudgeCase {
  readonly cat: string;
  readonly raw: string;
  readonly golden:
    | { readonly success: false }
    | {
        readonly success: true;
        readonly scores: readonly (number | boolean)[];
        readonly total: number;
        readonly strengths: readonly string[];
        readonly weaknesses: readonly string[];
      };
  readonly truth?: readonly number[];
  readonly strict?: {
    readonly scores: readonly number[];
    readonly strengths: readonly string[];
    readonly weaknesses: readonly string[];
  };
}

const golden = readFileSync(new URL('../../fixtures/golden/judge.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as JudgeCase);

/** Where the material holds nothing that a reply could quote. */
const readStrictly = (reply: string): Verdict => readStrictVerdict(reply, { prediction: 'ls', others: ['a', 'b'] });
const ratingsOf = (verdict: Verdict) =>
  verdict.status === 'ok' ? DIMENSIONS.map((dimension) => verdict.ratings[dimension]) : undefined;
const isRating = (rating: number | undefined): boolean => rating !== undefined && rating >= 1 && rating <= 5;
const block = (json: string): string =>
  `Some words.\n<final_evaluation>\n\`\`\`json\n${json}\n\`\`\`\n</final_evaluation>`;
const scores = (values: string): string => `{"strengths": [], "weaknesses": [], "scores": {${values}}}`;
const five = '"format": 4, "factuality": 3, "consistency": 5, "realism": 2, "quality": 1';
const others = '"factuality": 3, "consistency": 5, "realism": 2, "quality": 1';

describe('golden judge replies', () => {
  it('are all read as officially', () => {
    expect(golden).toHaveLength(333);
    for (const { cat, raw, golden: want } of golden) {
      const verdict = readOfficially(raw);
      if (!want.success) {
        expect({ cat, status: verdict.status }).toEqual({ cat, status: 'unreadable' });
        continue;
      }
      const rated = DIMENSIONS.map((dimension, i) => [dimension, want.scores[i]] as const).filter(([, score]) => score);
      const { total, strengths, weaknesses } = want;
      expect(verdict).toEqual({ status: 'ok', ratings: Object.fromEntries(rated), total, strengths, weaknesses });
    }
  });

  it('keep their strengths and weaknesses under the strict reading', () => {
    const cases = golden.filter(({ strict }) => strict?.scores.every(isRating));
    expect(cases.length).toBeGreaterThan(10);
    for (const { raw, strict } of cases) {
      const verdict = readStrictly(raw);
      expect(ratingsOf(verdict)).toEqual(strict?.scores);
      expect(verdict).toMatchObject({ strengths: strict?.strengths, weaknesses: strict?.weaknesses });
    }
  });

  it('are never rated otherwise than meant under the strict reading', () => {
    const rated = golden.filter(({ truth, raw }) => truth && readStrictly(raw).status === 'ok');
    expect(rated.length).toBeGreaterThan(140);
    for (const { raw, truth } of rated) expect(ratingsOf(readStrictly(raw))).toEqual(truth);
  });

  it('are rated alike wherever both readings find five ratings', () => {
    const both = golden.filter(
      ({ raw }) => ratingsOf(readStrictly(raw)) && ratingsOf(readOfficially(raw))?.every(isRating),
    );
    expect(both.length).toBeGreaterThan(140);
    for (const { raw } of both) expect(ratingsOf(readStrictly(raw))).toEqual(ratingsOf(readOfficially(raw)));
  });
});

describe('the official reading', () => {
  it.each([
    ['a string up to its slash', '"4/5"', 4],
    ['a slash alone', '"/5"', undefined],
    ['digits of another script', '"\u0663"', 3],
    ['digits outside the first plane', '"\\ud835\\udfd3"', 5],
    ['an underscore between digits', '"1_0"', 5],
    ['an underscore in front', '"_1"', undefined],
    ['a decimal in a string', '"4.0"', undefined],
    ['spaces of Python', '"\u0085 2 \u3000"', 2],
    ['a byte order mark', '"\ufeff2"', undefined],
    ['half, to even, down', '2.5', 2],
    ['half, to even, up', '3.5', 4],
    ['a half that rounds to none', '0.5', undefined],
    ['true', 'true', 1],
    ['false', 'false', undefined],
    ['a percentage', '87', 5],
    ['a negative score', '-3', -3],
    ['an integer beyond doubles', '9'.repeat(400), 5],
    ['an object', '{"score": 4}', undefined],
    ['null', 'null', undefined],
  ])('of a score: %s', (_, written, rating) => {
    const verdict = readOfficially(block(scores(`"format": ${written}`)));
    expect(verdict).toMatchObject({ status: 'ok' });
    expect(ratingsOf(verdict)?.[0]).toBe(rating);
  });

  it.each([
    ['NaN', scores(`"format": NaN, ${others}`)],
    ['an infinite score', scores(`"format": 1e400, ${others}`)],
    ['an integer of more than 4300 digits anywhere', `{"a": ${'9'.repeat(4301)}, "scores": {${five}}}`],
    ['nesting deeper than Python goes', `{"a": ${'['.repeat(992)}${']'.repeat(992)}, "scores": {${five}}}`],
    ['scores that are a list', '{"scores": [4, 3, 5, 2, 1]}'],
    ['an empty scores object that has to be rescued', '{"strengths": ["a, b: c"], "scores": {}}'],
    ['no object', 'five out of five'],
    ['nothing', ''],
  ])('cannot read %s', (_, text) => {
    expect(readOfficially(text).status).toBe('unreadable');
  });

  it('reads nesting as deep as Python goes', () => {
    const text = `{"a": ${'['.repeat(991)}${']'.repeat(991)}, "scores": {${five}}}`;
    expect(readOfficially(text).status).toBe('ok');
  });

  it('means the ratings above 0 alone', () => {
    expect(readOfficially(scores('"format": 5, "quality": 4, "realism": -1'))).toMatchObject({ total: 4.5 });
    expect(readOfficially(scores('"format": 0'))).toMatchObject({ total: 0, ratings: {} });
  });

  it('prints remarks that are not strings as Python does', () => {
    const remarks = String.raw`[1, 1.0, -0.0, 1e16, 1e-5, 123456789012345678901, true, null, NaN, -Infinity, ["a'b", "it's \"so\"", "\n\u0007\u200b\ud83d\udc4d"], {"k": [], "k2": {}, "k": 2}]`;
    expect(readOfficially(`{"strengths": ${remarks}, "weaknesses": "w", "scores": {${five}}}`)).toMatchObject({
      strengths: [
        '1',
        '1.0',
        '-0.0',
        '1e+16',
        '1e-05',
        '123456789012345678901',
        'True',
        'None',
        'nan',
        '-inf',
        String.raw`["a'b", 'it\'s "so"', '\n\x07\u200b👍']`,
        "{'k': 2, 'k2': {}}",
      ],
      weaknesses: ['w'],
    });
  });

  it('prefers a fence with scores to a later object, and the last to the first', () => {
    const fence = (json: string) => `\`\`\`json\n${json}\n\`\`\``;
    const text = `${fence(scores('"format": 1'))} ${fence(scores('"format": 2'))} ${fence('{"a": 1}')} ${scores('"format": 3')}`;
    expect(ratingsOf(readOfficially(text))?.[0]).toBe(2);
  });

  it('finds the object behind braces that never close', () => {
    expect(readOfficially(`an open { and "{ in a string ${scores('"format": 2')}`)).toMatchObject({
      total: 2,
    });
  });

  it('takes the whole reply where the last block is empty', () => {
    expect(readOfficially(`${scores(five)}<final_evaluation> </final_evaluation>`).status).toBe('ok');
  });
});

describe('the strict reading', () => {
  it.each([
    ['five integers', five],
    ['strings', `"format": "4/5", ${others}`],
    ['a float that rounds into the range', `"format": 4.4, ${others}`],
    ['keys in another order', `${others}, "format": 4`],
    ['a half just above the range that rounds to even', `"format": 4.5, ${others}`],
  ])('accepts %s', (_, values) => {
    expect(ratingsOf(readStrictly(block(scores(values))))).toEqual([4, 3, 5, 2, 1]);
  });

  it.each([
    ['a missing dimension', scores(others), 'does not rate format'],
    ['a capitalised key', scores(`"Format": 4, ${others}`), 'does not rate format'],
    ['a sixth score', scores(`${five}, "overall": 3`), 'more than the five'],
    ['a boolean', scores(`"format": true, ${others}`), 'format is not a number'],
    ['null', scores(`"format": null, ${others}`), 'format is not a number'],
    ['NaN', scores(`"format": NaN, ${others}`), 'format is not a number'],
    ['words', scores(`"format": "good", ${others}`), 'format is not a number'],
    ['a percentage', scores(`"format": 87, ${others}`), 'format is not from 1 to 5'],
    ['10/10', scores(`"format": "10/10", ${others}`), 'format is not from 1 to 5'],
    ['5.6, which rounds to 6', scores(`"format": 5.6, ${others}`), 'format is not from 1 to 5'],
    ['a half, which rounds to 0', scores(`"format": 0.5, ${others}`), 'format is not from 1 to 5'],
    ['a negative score', scores(`"format": -1, ${others}`), 'format is not from 1 to 5'],
    ['a score given twice', scores(`"format": 4, ${five}`), 'format twice'],
    ['scores given twice', `{"scores": {${five}}, "scores": {${five}}}`, 'scores twice'],
    ['no scores', '{"strengths": []}', 'no "scores" object'],
    ['an object that lacks its last brace', scores(five).slice(0, -1), 'cut off'],
    ['a long broken verdict', `{"strengths": [${'"a "b" c", '.repeat(4000)}], "scores": {${five}}}`, 'invalid'],
  ])('refuses %s and says so', (_, json, reason) => {
    expect(readStrictly(block(json))).toEqual({
      status: 'unreadable',
      reason: expect.stringContaining(reason),
    });
  });

  it.each([
    [
      'a trailing comma beside a string the official mending breaks',
      `{"strengths": ["a, b: c"], "weaknesses": [], "scores": {${five},},}`,
    ],
    ['comments', `{"strengths": ["a, b: c"], // well\n"weaknesses": [], /* and */ "scores": {${five}}}`],
    ['curly quotes', `{“strengths”: [“a, b: c”], "weaknesses": [], "scores": {${five}}}`],
    [
      'quotes that are not escaped',
      `{"strengths": ["a, b: c"], "weaknesses": [], "note": "says "ok" twice", "scores": {${five}}}`,
    ],
  ])('mends %s without losing a remark', (_, json) => {
    const verdict = readStrictly(block(json));
    expect(ratingsOf(verdict)).toEqual([4, 3, 5, 2, 1]);
    expect(verdict).toMatchObject({ strengths: ['a, b: c'], weaknesses: [] });
  });

  it.each([
    ['a reply without a block', `Here it is:\n${scores(five)}`],
    ['a fence behind prose', `Here it is:\n\`\`\`json\n${scores(five)}\n\`\`\``],
    ['prose behind JSON', `${scores(five)}\nThat is all.`],
    ['a reply without a block that quotes another verdict', `The model printed {"scores": {}}. ${scores(five)}`],
    [
      'two blocks',
      `<final_evaluation>${scores(others)}</final_evaluation>\n<final_evaluation>${scores(five)}</final_evaluation>`,
    ],
    [
      'a block with a second verdict that is cut off',
      `<final_evaluation>${scores(five)}\nNo: {"scores": {"format": 1,`,
    ],
    [
      'a block whose fence is not its last verdict',
      `<final_evaluation>\`\`\`\n${scores(five)}\n\`\`\`\n${scores(others)}</final_evaluation>`,
    ],
    [
      'a remark that the official mending turns into scores',
      `<final_evaluation>{"strengths": ["so, scores: {format: 1, factuality: 1, consistency: 1, realism: 1, quality: 1}"], "weaknesses": [], "scores": {${five}}}</final_evaluation>`,
    ],
    ['a block with an object behind it', `<final_evaluation>${scores(five)}</final_evaluation>\nNote: {"a": 1}`],
    [
      'a block with another tag behind it',
      `<final_evaluation>${scores(five)}</final_evaluation>\nI closed </final_evaluation>.`,
    ],
    ['a block in backticks', `It says \`<final_evaluation>${scores(five)}</final_evaluation>\``],
    ['a block within a sentence', `It says <final_evaluation>${scores(five)}</final_evaluation>, and no more.`],
    ['a block in thinking that never ends', `<think>Perhaps\n<final_evaluation>${scores(five)}</final_evaluation>`],
  ])('refuses %s, which the official one reads', (_, reply) => {
    expect(readOfficially(reply).status).toBe('ok');
    expect(readStrictly(reply).status).toBe('unreadable');
  });

  it('refuses a block that stands in the thinking alone', () => {
    const reply = `<think>Perhaps\n<final_evaluation>${scores(five)}</final_evaluation>\n</think>\nI cannot say.`;
    expect(readStrictly(reply)).toEqual({ status: 'unreadable', reason: expect.stringContaining('thinking') });
  });

  it.each([
    ['the JSON alone', scores(five)],
    ['the JSON in a fence', `\`\`\`json\n${scores(five)}\n\`\`\``],
    ['the JSON behind thinking', `<think>{"scores": {}} <final_evaluation></think>\n${scores(five)}`],
    [
      'the JSON alone, whose remarks hold tags',
      scores(five).replace('[]', '["ends in </final_evaluation>, </think>"]'),
    ],
    ['a block behind drafts in thinking', `${block(scores('"format": 1'))}</think>${block(scores(five))}`],
    ['a block behind a mention of its tag', `One <final_evaluation> block follows.\n${block(scores(five))}`],
    ['a fence around the block', `\`\`\`\n<final_evaluation>\n${scores(five)}\n</final_evaluation>\n\`\`\``],
    ['a farewell', `${block(scores(five))}\n\nThat is my rating.`],
    ['a block that is not closed', `Well.\n<final_evaluation>\n${scores(five)}\n`],
    ['a remark about thinking tags', block(scores(five).replace('[]', '["says </think> here", "<think>"]'))],
  ])('accepts %s', (_, reply) => {
    expect(ratingsOf(readStrictly(reply))).toEqual([4, 3, 5, 2, 1]);
  });
});

/** Remarks with all that mending stumbles over, but nothing that moves the verdict (fences, tags). */
const remark = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      'scores',
      ' ',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '\\',
      '\n',
      '5',
      'format',
      '\u0085',
    ),
    maxLength: 12,
  }),
);
const remarks = fc.array(
  remark.map((text) => text.replace(/[<`]/g, '')),
  { maxLength: 4 },
);
const score = fc
  .integer({ min: 1, max: 5 })
  .chain((rating) =>
    fc.constantFrom<[number, unknown]>(
      [rating, rating],
      [rating, `${rating}`],
      [rating, `${rating} / 5`],
      [rating, rating + 0.25],
    ),
  );
const verdict = fc.record({
  strengths: remarks,
  weaknesses: remarks,
  scores: fc.tuple(score, score, score, score, score),
  indent: fc.constantFrom(0, 2),
  scoresFirst: fc.boolean(),
});

function write({
  strengths,
  weaknesses,
  scores,
  indent,
  scoresFirst,
}: typeof verdict extends fc.Arbitrary<infer V> ? V : never): string {
  const rated = { scores: Object.fromEntries(DIMENSIONS.map((dimension, i) => [dimension, scores[i]?.[1]])) };
  const told = { strengths, weaknesses };
  return JSON.stringify(scoresFirst ? { ...rated, ...told } : { ...told, ...rated }, null, indent);
}

describe('generated verdicts', () => {
  it('that are valid come out whole under the strict reading', () => {
    fc.assert(
      fc.property(verdict, (meant) => {
        const read = readStrictly(block(write(meant)));
        if (read.status === 'unreadable') {
          expect(read.reason).toBe('the verdict can be read in two ways');
          return;
        }
        expect(ratingsOf(read)).toEqual(meant.scores.map(([rating]) => rating));
        expect([read.strengths, read.weaknesses]).toEqual([meant.strengths, meant.weaknesses]);
      }),
      { numRuns: 500 },
    );
  });

  it('that are damaged are rated alike wherever both readings find five ratings', () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.nat(3),
      fc.constantFrom('"', "'", ',', '{', '}', '\\', ':', ' ', '`', '\n', '5', '"scores": {'),
    );
    fc.assert(
      fc.property(verdict, fc.array(damage, { maxLength: 3 }), (meant, damages) => {
        let reply = block(write(meant));
        for (const [place, length, text] of damages) {
          const at = place % reply.length;
          reply = reply.slice(0, at) + text + reply.slice(at + length);
        }
        const strict = ratingsOf(readStrictly(reply));
        const official = ratingsOf(readOfficially(reply));
        if (strict && official?.every(isRating)) expect(strict).toEqual(official);
      }),
      { numRuns: 1000 },
    );
  });

  it('that are cut off before the last brace are unreadable under the strict reading', () => {
    fc.assert(
      fc.property(verdict, fc.nat(), (meant, cut) => {
        const reply = `<final_evaluation>${write(meant)}`;
        expect(readStrictly(reply.slice(0, cut % reply.length)).status).toBe('unreadable');
      }),
      { numRuns: 500 },
    );
  });
});
