// What flags a reply gets, and that real observations get none.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flagsOf } from '../../src/infer/inferring.js';

const tagged = (text: string): string => `<predicted_observation>\n${text}\n</predicted_observation>`;

describe('flagsOf', () => {
  it.each([
    ['a tagged reply that ended by itself', tagged('ok'), 'stop', []],
    ['a reply that the token budget ended', tagged('ok'), 'length', ['truncated']],
    ['a reply without a tag', 'ok', 'stop', ['untagged']],
    ['a tag in thinking alone', `<think>${tagged('draft')}</think>ok`, 'stop', ['untagged']],
    ['an empty reply', '', 'stop', ['empty']],
    ['white space', ' \n\u0085', 'stop', ['empty']],
    ['thinking that never ended', '<think>hm', 'length', ['truncated', 'empty']],
    ['an empty tag', tagged(''), 'stop', []],
    ['two tags', tagged('a') + tagged('b'), 'stop', ['several-tags']],
    ['a draft in thinking', `<think>${tagged('a')}</think>${tagged('b')}`, 'stop', []],
    ['an untagged loop cut by the budget', 'again. '.repeat(1000), 'length', ['truncated', 'untagged', 'repetitive']],
    ['two tags around a loop', tagged('a') + tagged('again. '.repeat(1000)), 'stop', ['repetitive', 'several-tags']],
  ])('%s', (_, content, finishReason, flags) => {
    expect(flagsOf({ content, finishReason })).toEqual(flags);
  });

  it('reads a reply without a finish reason', () => {
    expect(flagsOf({ content: tagged('ok') })).toEqual([]);
  });
});

const paragraph = `The window shows ${'abcdefghij '.repeat(40)}.`;
const offsets = Array.from({ length: 512 }, (_, row) => row.toString(16).padStart(8, '0'));

describe('repetition', () => {
  it.each([
    ['a sentence without end', 'I will now check. '.repeat(200)],
    ['a loop cut inside its unit', `start ${'The quick brown fox. '.repeat(300)}The qu`],
    ['a paragraph of hundreds of letters', paragraph.repeat(8)],
    ['a loop in front of the closing tag', tagged('ok '.repeat(1000))],
    ['a loop in thinking', `<think>${'wait, '.repeat(1000)}`],
    ['a loop in Chinese', '继续等待'.repeat(600)],
    ['zeros beyond any dump', '0'.repeat(20_000)],
  ])('is seen in %s', (_, content) => {
    expect(flagsOf({ content })).toContain('repetitive');
  });

  it.each([
    [
      'a dump of zeros with offsets',
      offsets.map((offset) => `${offset}: ${'0000 '.repeat(8)} ................`).join('\n'),
    ],
    ['a plain dump of 4 KiB of zeros', `${'0'.repeat(60)}\n`.repeat(136)],
    ['a blank terminal screen', `user@host:~$ clear\n${`${' '.repeat(200)}\n`.repeat(60)}`],
    ['an editor on an empty file', `~\n`.repeat(60)],
    ['a table with equal cells', `id,a,b\n${'0,0,0\n'.repeat(500)}`],
    ['numbered rows', Array.from({ length: 2000 }, (_, row) => `row ${row}: ok`).join('\n')],
    ['a rule', '='.repeat(400)],
    ['forty equal log lines', 'retrying\n'.repeat(40)],
    ['a paragraph said seven times', paragraph.repeat(7)],
  ])('is not seen in %s', (_, text) => {
    expect(flagsOf({ content: tagged(text) })).toEqual([]);
  });

  it('is not seen in any recorded observation', () => {
    const folder = new URL('../../fixtures/recorded/', import.meta.url);
    const observations = readdirSync(folder)
      .filter((name) => name.endsWith('_test.jsonl'))
      .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n'))
      .filter((line) => line.trim() !== '')
      .flatMap((line) => (JSON.parse(line) as { response: string[] }).response);
    expect(observations.length).toBeGreaterThan(100);
    expect(observations.filter((content) => flagsOf({ content }).includes('repetitive'))).toEqual([]);
  });
});
