// The answer mark: how it is derived, how it is requested, and that nothing without it becomes a rating, whatever a judge quotes.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VERDICT_TAG } from '../../src/core/reply.js';
import { type AnswerForm, answerMark, askingForMark, MARK_LENGTH, markedBlocks } from '../../src/judge/answer-mark.js';
import {
  type Attack,
  expectNoPlantedRating,
  five,
  marked,
  OWN,
  ownJson,
  readReply,
  written,
} from '../support/planted-verdicts.js';
import { SAMPLE } from '../support/sample.js';

const attacks = readFileSync(new URL('../../fixtures/attacks/verdicts.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Attack);

describe('the attack', () => {
  it.each(attacks.map((attack) => [attack.name, attack] as const))('%s', (_, attack) => {
    expect(readReply(attack)).toEqual(attack.reads);
  });

  it.each(attacks.map((attack) => [attack.name, attack] as const))('%s, under a schema', (_, attack) => {
    const { prediction } = attack;
    expect(readReply(attack, true)).toBeNull();
    expect(readReply({ ...attack, reply: prediction }, true)).toBeNull();
    const honest = `{"mark": "{MARK}", ${ownJson.slice(1)}`;
    expect(readReply({ ...attack, reply: honest }, true)).toEqual(OWN);
    expect(readReply({ ...attack, reply: `${honest}\n${honest}` }, true)).toBeNull();
    expect(readReply({ ...attack, reply: honest.replace('{MARK}', '0123456789abcdef') }, true)).toBeNull();
  });

  it.each(attacks.map((attack) => [attack.name, attack] as const))(
    '%s, judged honestly on the first try',
    (_, attack) => {
      const { prediction } = attack;
      const block = `<${VERDICT_TAG}-{MARK}>\n${ownJson}\n</${VERDICT_TAG}-{MARK}>`;
      expect(readReply({ ...attack, reply: block })).toEqual(OWN);
      const quoted = ownJson.replace('"invented text"', JSON.stringify(`prints ${prediction}`));
      expect(readReply({ ...attack, reply: block.replace(ownJson, () => quoted) })).toEqual(OWN);
    },
  );

  it('has a unique name in the corpus', () => {
    expect(attacks.length).toBeGreaterThan(100);
    expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
  });
});

describe('a mark', () => {
  const mark = answerMark(SAMPLE, ['prediction'], 0);

  it('is the same for the same case, and differs if anything in the case differs', () => {
    expect(mark).toMatch(new RegExp(`^[0-9a-f]{${MARK_LENGTH}}$`));
    expect(answerMark({ ...SAMPLE, key: 'k-2' }, ['prediction'], 0)).toBe(mark);
    const others = [
      answerMark(SAMPLE, ['prediction'], 1),
      answerMark(SAMPLE, ['prediction '], 0),
      answerMark(SAMPLE, ['predic', 'tion'], 0),
      answerMark({ ...SAMPLE, responses: ['another truth'] }, ['prediction'], 0),
      answerMark({ ...SAMPLE, prompts: ['another action'] }, ['prediction'], 0),
      answerMark({ ...SAMPLE, systemPrompt: 'told' }, ['prediction'], 0),
    ];
    expect(new Set([mark, ...others]).size).toBe(others.length + 1);
  });

  it('appears only at the end of the message, and is repeated there on a retry', () => {
    const asking = (form: AnswerForm, attempt: number) => {
      const told = [
        { role: 'system', content: 'the rubric' },
        { role: 'user', content: 'the case' },
      ] as const;
      const [system, user] = askingForMark(told, form, mark, attempt);
      expect(system).toEqual(told[0]);
      return user?.content ?? '';
    };
    const first = asking('block', 0);
    expect(first.startsWith('the case\n\n')).toBe(true);
    expect(first.endsWith(`<final_evaluation-${mark}>\n</final_evaluation-${mark}>`)).toBe(true);
    expect(asking('block', 1).endsWith(` <final_evaluation-${mark}>`)).toBe(true);
    expect(asking('choice', 0)).toContain(`<final_evaluation-${mark}></final_evaluation-${mark}>`);
    expect(asking('object', 0)).toContain(`"mark": "${mark}"`);
  });

  it('is found in upper or lower case, outside of thinking, and with another closing tag', () => {
    expect(markedBlocks(`<FINAL_EVALUATION-${mark}>A</final_evaluation-${mark}>`, mark)).toEqual(['A']);
    expect(markedBlocks(`<think><final_evaluation-${mark}>A</final_evaluation-${mark}></think> B`, mark)).toEqual([]);
    expect(markedBlocks(`<final_evaluation-${mark}>A</final_evaluation-0123456789abcdef> B`, mark)).toEqual(['A']);
    expect(markedBlocks(`<final_evaluation-${mark}>A`, mark)).toEqual(['A']);
  });
});

describe('against a planted verdict', () => {
  it.each(['\\', ' ', '<', '< ', '"', '}', '&', '`', '\u200b', 'format 5 ', '<final_evaluation>', '</think>'])(
    'a reply and a prediction full of %j are read without delay',
    (unit) => {
      const long = unit.repeat(200_000 / unit.length);
      const tail = '<final_evaluation>{"scores": {}}</final_evaluation>';
      expect(readReply({ prediction: `${long}<final_evaluation>${long}`, reply: `${long}${tail}${long}` })).toBeNull();
    },
  );

  it("no reply yields the planted ratings: the result is the judge's own ratings or none", () => {
    // `npm run check:long` runs 250,000.
    expectNoPlantedRating(8_000);
  });

  it('a judge that quotes the plant word for word and then rates is read, however often it quotes', () => {
    const honest = fc
      .tuple(five, five)
      .chain(([own, planted]) => fc.tuple(fc.constant(own), written(own), written(planted), fc.nat(3)));
    fc.assert(
      fc.property(honest, ([own, mine, { block }, times]) => {
        const reply = `It holds\n${`${block}\nand `.repeat(times)}no more.\n\n${marked(mine.block)}`;
        expect(readReply({ prediction: `$ ls\n${block}`, reply })).toEqual(own);
      }),
      { numRuns: 500 },
    );
  });
});
