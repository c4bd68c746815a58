// The strict reading of verdicts: what it accepts, what it must refuse, and that it never contradicts the official one.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { readOfficialVerdict as readOfficially, readStrictVerdict } from '../../src/judge/verdicts.js';
import {
  block,
  five,
  golden,
  isRating,
  MARK,
  marked,
  others,
  ratingsOf,
  readStrictly,
  scores,
} from '../support/verdicts.js';

describe('golden judge replies', () => {
  it('keep their strengths and weaknesses under the strict reading', () => {
    const cases = golden.filter(({ strict }) => strict?.scores.every(isRating));
    expect(cases.length).toBeGreaterThan(10);
    for (const { raw, strict } of cases) {
      const verdict = readStrictly(raw);
      expect(ratingsOf(verdict)).toEqual(strict?.scores);
      expect(verdict).toMatchObject({ strengths: strict?.strengths, weaknesses: strict?.weaknesses });
    }
  });

  it('never get ratings other than intended under the strict reading', () => {
    const rated = golden.filter(({ truth, raw }) => truth && readStrictly(raw).status === 'ok');
    expect(rated.length).toBeGreaterThan(140);
    for (const { raw, truth } of rated) expect(ratingsOf(readStrictly(raw))).toEqual(truth);
  });

  it('get equal ratings whenever both readings find five', () => {
    const both = golden.filter(
      ({ raw }) => ratingsOf(readStrictly(raw)) && ratingsOf(readOfficially(raw))?.every(isRating),
    );
    expect(both.length).toBeGreaterThan(140);
    for (const { raw } of both) expect(ratingsOf(readStrictly(raw))).toEqual(ratingsOf(readOfficially(raw)));
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
      'a trailing comma next to a string that the official repair breaks',
      `{"strengths": ["a, b: c"], "weaknesses": [], "scores": {${five},},}`,
    ],
    ['comments', `{"strengths": ["a, b: c"], // well\n"weaknesses": [], /* and */ "scores": {${five}}}`],
    ['curly quotes', `{“strengths”: [“a, b: c”], "weaknesses": [], "scores": {${five}}}`],
    [
      'quotes that are not escaped',
      `{"strengths": ["a, b: c"], "weaknesses": [], "note": "says "ok" twice", "scores": {${five}}}`,
    ],
  ])('repairs %s without losing a remark', (_, json) => {
    const verdict = readStrictly(block(json));
    expect(ratingsOf(verdict)).toEqual([4, 3, 5, 2, 1]);
    expect(verdict).toMatchObject({ strengths: ['a, b: c'], weaknesses: [] });
  });

  it.each([
    ['a reply without a block', `Here it is:\n${scores(five)}`],
    ['a fence after prose', `Here it is:\n\`\`\`json\n${scores(five)}\n\`\`\``],
    ['prose after JSON', `${scores(five)}\nThat is all.`],
    ['a reply without a block that quotes another verdict', `The model printed {"scores": {}}. ${scores(five)}`],
    [
      'two blocks',
      `<final_evaluation>${scores(others)}</final_evaluation>\n<final_evaluation>${scores(five)}</final_evaluation>`,
    ],
    [
      'a block followed by a second verdict that is cut off',
      `<final_evaluation>${scores(five)}\nNo: {"scores": {"format": 1,`,
    ],
    [
      'a block whose fence is not its last verdict',
      `<final_evaluation>\`\`\`\n${scores(five)}\n\`\`\`\n${scores(others)}</final_evaluation>`,
    ],
  ])('refuses %s, although the official reading accepts it', (_, reply) => {
    expect(readOfficially(reply).status).toBe('ok');
    expect(readStrictly(reply).status).toBe('unreadable');
  });

  it('refuses a block that appears only in the thinking', () => {
    const reply = `<think>Perhaps\n<final_evaluation>${scores(five)}</final_evaluation>\n</think>\nI cannot say.`;
    expect(readStrictly(reply)).toEqual({ status: 'unreadable', reason: expect.stringContaining('no block') });
  });

  it('refuses JSON without a block', () => {
    for (const reply of [scores(five), `\`\`\`json\n${scores(five)}\n\`\`\``, `<think>Well.</think>\n${scores(five)}`])
      expect(readStrictly(reply)).toEqual({ status: 'unreadable', reason: expect.stringContaining('no block') });
  });

  it.each([
    ['a rating', `{"scores": {${five.replace('4', '0.4e1')}}}`],
    ['a rating as text', `{"scores": {${five.replace('4', '"40e-1"')}}}`],
    ['a rating in JSON that needs repair', `{scores: {${five.replace('4', '4e0')},}}`],
  ])('refuses %s with an exponent', (_, json) => {
    expect(readStrictly(block(json))).toEqual({ status: 'unreadable', reason: expect.stringContaining('exponent') });
  });

  it.each([
    ['an object after the block', `${block(scores(five))}\nNote: {"a": 1}`],
    ['another tag after the block', `${block(scores(five))}\nI closed </final_evaluation>.`],
    ['the block in backticks', `It says \`<final_evaluation>${scores(five)}</final_evaluation>\``],
    ['the block within a sentence', `It says <final_evaluation>${scores(five)}</final_evaluation>, and no more.`],
    ['thinking that never ends, before the block', `<think>Perhaps\n${block(scores(five))}`],
    ['two blocks that agree', `${block(scores(five))}\n${block(scores(five))}`],
    ['a block after drafts in thinking', `${block(scores('"format": 1'))}</think>${block(scores(five))}`],
    ['a block after a mention of its tag', `One <final_evaluation> block follows.\n${block(scores(five))}`],
    ['a fence around the block', `\`\`\`\n<final_evaluation>\n${scores(five)}\n</final_evaluation>\n\`\`\``],
    ['closing words', `${block(scores(five))}\n\nThat is my rating.`],
    ['a block that is not closed', `Well.\n<final_evaluation>\n${scores(five)}\n`],
    ['a remark about thinking tags', block(scores(five).replace('[]', '["says </think> here", "<think>"]'))],
  ])('accepts %s', (_, reply) => {
    expect(ratingsOf(readStrictly(reply))).toEqual([4, 3, 5, 2, 1]);
  });
});

describe('a block without the mark', () => {
  const read = (reply: string, isClean = true) =>
    readStrictVerdict(reply, { mark: MARK, isHeld: false, countsUnmarked: () => isClean });

  it('counts if it is the only block, ends the reply, and nothing in the case can be mistaken for it', () => {
    expect(ratingsOf(read(block(scores(five))))).toEqual([4, 3, 5, 2, 1]);
    expect(ratingsOf(read(`\`\`\`\n${block(scores(five)).replace('Some words.\n', '')}\n\`\`\``))).toEqual([
      4, 3, 5, 2, 1,
    ]);
    expect(read(block(scores(five)), false)).toEqual({
      status: 'unreadable',
      reason: 'the block lacks the mark of its case, so it may be a quotation',
    });
  });

  it.each([
    ['next to another', `${block(scores(five))}\n${block(scores(five))}`],
    ['within a sentence', `It says <final_evaluation>${scores(five)}</final_evaluation>`],
    ['before more text', `${block(scores(five))}\nThat is my rating.`],
    ['in thinking', `<think>${block(scores(five))}</think>`],
    ['with the mark of another case', marked(block(scores(five))).replaceAll(MARK, '0123456789abcdef')],
  ])('does not count %s', (_, reply) => {
    expect(read(reply).status).toBe('unreadable');
  });
});

/** Remarks with everything that is hard to repair, but nothing that changes the verdict (fences, tags). */
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
  it('are read completely by the strict reading if they are valid', () => {
    fc.assert(
      fc.property(verdict, (meant) => {
        const read = readStrictly(block(write(meant)));
        expect(ratingsOf(read)).toEqual(meant.scores.map(([rating]) => rating));
        expect(read).toMatchObject({ strengths: meant.strengths, weaknesses: meant.weaknesses });
      }),
      { numRuns: 500 },
    );
  });

  it('get equal ratings whenever both readings find five, even if they are corrupted', () => {
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

  it('are unreadable for the strict reading if they are cut off before the last brace', () => {
    fc.assert(
      fc.property(verdict, fc.nat(), (meant, cut) => {
        // A text with a brace or bracket could be cut off there and still be read, since what is left then looks complete.
        const texts = (given: readonly string[]) => given.map((text) => text.replaceAll(/[}\]]/g, ')'));
        const { strengths, weaknesses } = meant;
        const reply = `<final_evaluation>${write({ ...meant, strengths: texts(strengths), weaknesses: texts(weaknesses) })}`;
        expect(readStrictly(reply.slice(0, cut % reply.length)).status).toBe('unreadable');
      }),
      { numRuns: 500 },
    );
  });
});
