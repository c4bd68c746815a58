// Reading replies: thinking, tagged blocks and the marker, against the golden cases and the corners they leave out.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  countTags,
  lastBlock,
  pythonStrip,
  readPrediction,
  shownPrediction,
  withoutMarker,
  withoutThinking,
  writtenPrediction,
} from '../../src/core/reply.js';
import { DOMAINS } from '../../src/core/types.js';

interface ModelCase {
  readonly cat: string;
  readonly raw: string;
  readonly task: string;
  readonly golden: { readonly out: string; readonly clean: string };
}

const golden = readFileSync(new URL('../../fixtures/golden/model.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as ModelCase);

describe('golden world-model replies', () => {
  it('are all read as officially', () => {
    expect(golden).toHaveLength(200);
    for (const { cat, raw, golden: want } of golden)
      expect({ cat, out: readPrediction(raw) }).toEqual({ cat, out: want.out });
  });

  it('of known domains lose the marker as officially', () => {
    const known = golden.filter(({ task }) => (DOMAINS as readonly string[]).includes(task.split('/').at(-1) ?? ''));
    expect(known.length).toBeGreaterThan(150);
    for (const { cat, golden: want } of known)
      expect({ cat, clean: withoutMarker(want.out) }).toEqual({ cat, clean: want.clean });
  });
});

describe('pythonStrip', () => {
  it.each([
    ['\u001c\u001d\u001e\u001f\u0085a\u0085', 'a'],
    ['\u2028\u3000 a b \u00a0\u000b', 'a b'],
    ['\ufeffa\ufeff', '\ufeffa\ufeff'],
    ['\u200b a', '\u200b a'],
    [' \n\t', ''],
  ])('of %j is %j', (text, stripped) => {
    expect(pythonStrip(text)).toBe(stripped);
  });
});

describe('withoutThinking', () => {
  it.each([
    ['a text without thinking is untouched, spaces included', ' a ', ' a '],
    ['a pair is taken out', 'a <THINK>x</Think> b', 'a  b'],
    ['nested pairs pair first with first', '<think>1<think>2</think>3</think>4', '4'],
    ['a stray closing tag takes what stands before it', 'a<think>b</think>c</think>d', 'd'],
    ['a stray opening tag takes what stands behind it', 'a<think>b', 'a'],
    ['a stray opening tag stops at the wanted tag', 'a<think>b<tag>c</tag>', 'a<tag>c</tag>'],
    ['every stray opening tag stops at the next wanted tag', '<think><tag>a<think>b<tag>c', '<tag>a<tag>c'],
    ['letters that Python counts as cases of i and k make the tag too', 'a<th\u0131n\u212a>b</TH\u0130NK>c', 'ac'],
  ])('%s', (_, text, left) => {
    expect(withoutThinking(text, 'tag')).toBe(left);
  });

  it('removes everything after a stray opening tag when no tag is wanted', () => {
    expect(withoutThinking('a<think>b<tag>c</tag>')).toBe('a');
  });
});

describe('tagged blocks', () => {
  it.each([
    ['<t>a</t><t> b </t>c', 'b'],
    ['<t>a</t><T>b', 'b'],
    ['</t><t>a', 'a'],
    ['<t></t>', ''],
    ['t', undefined],
  ])('the last block of %j is %j', (text, block) => {
    expect(lastBlock(text, 't')).toBe(block);
  });

  it('are counted by their opening tags in any case', () => {
    expect(countTags('<t><T></t><t', 't')).toBe(2);
  });
});

describe('readPrediction', () => {
  it.each([
    ['', 'No output'],
    ['<think>only</think> \n', 'No output'],
    [' \u0085', 'No output'],
    ['<predicted_observation></predicted_observation>', ''],
    ['bare text\n', 'bare text'],
    ['<predicted_observation>1</predicted_observation> <predicted_ob\u017fervation>2', '2'],
    ['<think><predicted_observation>draft</predicted_observation></think>real', 'real'],
  ])('of %j is %j', (gen, prediction) => {
    expect(readPrediction(gen)).toBe(prediction);
  });
});

describe('withoutMarker', () => {
  const marker = '**Environment Observation:**';
  it.each([
    [`${marker}\n a ${marker}`, `a ${marker}`],
    [` ${marker} a ${marker} b`, 'a  b'],
    ['\u0085a ', 'a'],
  ])('of %j is %j', (text, clean) => {
    expect(withoutMarker(text)).toBe(clean);
  });
});

describe('the observation that a reply writes', () => {
  it('is what judges are shown of it, without marker, tag and thinking', () => {
    expect(
      writtenPrediction(
        '<think>so</think><predicted_observation>**Environment Observation:**\nab</predicted_observation>',
      ),
    ).toBe('ab');
    expect(writtenPrediction('plain')).toBe('plain');
  });

  it('is empty if the reply is only thinking, which judges are told in words', () => {
    for (const gen of ['', '<think>so</think>', ' \n']) expect(writtenPrediction(gen)).toBe('');
    expect(shownPrediction('<think>so</think>')).toBe('No output');
  });
});
