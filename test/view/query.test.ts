// The query over samples: what it selects, in which order, what changed from another run, and what went wrong in groups.

import { describe, expect, it } from 'vitest';
import type { ListedSample, SampleList } from '../../src/view/documents.js';
import { choicesOf, groupsOf, type Query, sampleName, select } from '../../src/view/query.js';
import { listOf } from '../support/sample-runs.js';

/** Ratings, the one of factuality given. */
const rated = (factuality: number, others = 5) => [others, factuality, others, others, others];

const LIST = listOf([
  { k: 'a', t: 1, v: 100, f: rated(5), o: 2 },
  { k: 'b', t: 2, v: 20, f: rated(1, 2), u: ['the prompt shows root', 'exit code is 1'], o: 2, n: 'Wrong user' },
  { k: 'c', d: 1, g: 1, t: 1, v: 60, f: rated(2, 4), u: ['the title shows Home'], o: 3, l: ['truncated'] },
  { k: 'd', d: 1, g: 1, t: 2, v: 0, x: 'empty', y: 'The model gave nothing.', l: ['empty'] },
  { k: 'e', d: 1, g: 1, t: 3, x: 'judge-timeout', y: 'No token for 900 s.' },
  { k: 'e', r: 1, d: 1, g: 1, t: 3, v: 75, f: rated(4, 4), o: 1 },
]);

/** Keys of what a query selects, with the repeat where it is not the first. */
function keys(list: SampleList, query: Query, against?: SampleList): string[] {
  return select(list, query, against).map(({ at }) => {
    const { k, r } = list.samples[at] as ListedSample;
    return r === undefined ? k : `${k}${r}`;
  });
}

describe('a query', () => {
  it('without a part selects all, the worst first, and those without a score last', () => {
    expect(keys(LIST, {})).toEqual(['d', 'b', 'c', 'e1', 'a', 'e']);
    expect(keys(LIST, { sort: 'best', domain: '' })).toEqual(['a', 'e1', 'c', 'b', 'd', 'e']);
    expect(keys(LIST, { sort: 'turn' })).toEqual(['a', 'b', 'c', 'd', 'e', 'e1']);
  });

  it('knows that for some measures larger is worse', () => {
    const lead = { name: 'bits_per_byte', decimals: 2, from: 0, to: null, better: 'smaller' } as const;
    expect(keys({ ...LIST, lead }, {})).toEqual(['a', 'e1', 'c', 'b', 'd', 'e']);
  });

  it.each<[Query, readonly string[]]>([
    [{ domain: 'web' }, ['d', 'c', 'e1', 'e']],
    [{ rating: 'low' }, ['b']],
    [{ rating: 'good' }, ['c']],
    [{ rating: 'high' }, ['e1', 'a']],
    [{ rating: 'failed' }, ['d', 'e']],
    [{ rating: 'wrong' }, ['d', 'b', 'c', 'e1', 'e']],
    [{ dimension: 'factuality' }, ['b', 'c']],
    [{ dimension: 'realism' }, ['b']],
    [{ weakest: 'realism' }, ['e1']],
    [{ weakest: 'factuality' }, ['b', 'c', 'e1']],
    [{ fact: 'none' }, ['b']],
    [{ fact: 'some' }, ['c']],
    [{ fact: 'unmet' }, ['b', 'c']],
    [{ fact: 'all' }, ['e1', 'a']],
    [{ failure: 'empty' }, ['d']],
    [{ flag: 'truncated' }, ['c']],
    [{ word: 'Shows' }, ['b', 'c']],
    [{ word: 'show' }, []],
    [{ text: ' wrong USER ' }, ['b']],
    [{ text: 'trajectory 2 · turn 1' }, ['c']],
    [{ text: '900 s' }, ['e']],
    [{ text: 'exit code' }, ['b']],
    [{ domain: 'web', rating: 'wrong', fact: 'some' }, ['c']],
    [{ rating: 'constructor' }, []],
    [{ change: 'toString' }, []],
    [{ fact: 'valueOf' }, []],
  ])('of %o selects %o', (query, expected) => {
    expect(keys(LIST, query)).toEqual(expected);
  });

  it('has choices, all of which it knows', () => {
    const choices = choicesOf(LIST, LIST);
    expect(choices.rating).toEqual(['low', 'fair', 'good', 'high', 'failed', 'wrong']);
    expect(choices.failure).toEqual(['empty', 'judge-timeout']);
    expect(choices.flag).toEqual(['empty', 'truncated']);
    expect(choices.word).toBeUndefined();
    expect(choices.sort).toEqual(['change', 'drop', 'gain', 'worst', 'best', 'turn']);
    expect(choicesOf(LIST).change).toEqual([]);
    const measured = { ...LIST, lead: { ...LIST.lead, to: null }, figures: [['nats', null]] as const };
    expect(choicesOf(measured)).toMatchObject({ rating: ['failed', 'wrong'], dimension: [] });
  });
});

it('a sample is named by domain, trajectory and turn, and by repeat and judgement unless they are the first', () => {
  expect(sampleName(LIST, { k: 'a', d: 1, g: 4, t: 3 })).toBe('Web · trajectory 5 · turn 3');
  expect(sampleName(LIST, { k: 'a', d: 0, g: 0, t: 1, r: 1, j: 2 })).toBe(
    'Terminal · trajectory 1 · turn 1 · repeat 2 · judgement 3',
  );
});

describe('against another run', () => {
  const other = listOf([
    { k: 'b', v: 95 },
    { k: 'a', v: 90 },
    { k: 'e', v: 75 },
    { k: 'c', v: 60 },
    { k: 'd', x: 'judge-fatal' },
  ]);

  it('samples are sorted by the largest change, either way, and those without one come last', () => {
    const found = select(LIST, {}, other);
    expect(found.map(({ at, change }) => [LIST.samples[at]?.k, change])).toEqual([
      ['b', -75],
      ['a', 10],
      ['c', 0],
      ['e', 0],
      ['d', undefined],
      ['e', undefined],
    ]);
    expect(found[0]?.other).toBe(other.samples[0]);
  });

  it.each<[Query, readonly string[]]>([
    [{ change: 'worse' }, ['b']],
    [{ change: 'better' }, ['a']],
    [{ change: 'same' }, ['c', 'e1']],
    [{ change: 'moved' }, ['b']],
    [{ sort: 'drop' }, ['b', 'c', 'e1', 'a', 'd', 'e']],
    [{ sort: 'gain' }, ['a', 'c', 'e1', 'b', 'd', 'e']],
    [{ sort: 'worst', domain: 'terminal' }, ['b', 'a']],
  ])('%o selects %o', (query, expected) => {
    expect(keys(LIST, query, other)).toEqual(expected);
  });

  it('a row that only one run has is alone', () => {
    expect(keys(LIST, { change: 'alone' }, listOf([{ k: 'a', v: 1 }]))).toEqual(['b', 'c', 'd', 'e', 'e1']);
  });

  it('a row is paired with the same repeat and judgement, else the repeat, else the key', () => {
    const own = listOf([{ k: 'a' }, { k: 'a', j: 1 }, { k: 'a', r: 1 }, { k: 'a', r: 2 }]);
    const before = listOf([{ k: 'a' }, { k: 'a', r: 1 }, { k: 'a', r: 1, j: 1 }]);
    const places = select(own, { sort: 'turn' }, before).map((one) => one.other && before.samples.indexOf(one.other));
    expect(places).toEqual([0, 0, 1, 0]);
  });

  it("a prediction's change is the mean over its judgements", () => {
    const once = listOf([{ k: 'a', v: 100 }]);
    const thrice = listOf([
      { k: 'a', v: 100 },
      { k: 'a', j: 1, v: 50 },
      { k: 'a', j: 2, v: 0 },
    ]);
    expect(select(thrice, {}, once).map(({ change }) => change)).toEqual([-50, -50, -50]);
    expect(select(once, {}, thrice).map(({ change }) => change)).toEqual([50]);
  });

  it('changes compare only like with like: ratings with ratings, a measure with the same measure', () => {
    const figures = [['chrf', 100]] as const;
    const measured = listOf([{ k: 'a', v: 40, f: [40] }], { figures, lead: { ...LIST.lead, name: 'chrf' } });
    const [found] = select(listOf([{ k: 'a', v: 50 }]), {}, measured);
    expect(found).toMatchObject({ at: 0, other: measured.samples[0] });
    expect(found?.change).toBeUndefined();
    const more = {
      figures: [
        ['exact', 100],
        ['chrf', 100],
      ] as const,
      lead: { ...LIST.lead, name: 'exact' },
    };
    expect(select(measured, {}, listOf([{ k: 'a', v: 100, f: [100, 30] }], more))[0]?.change).toBe(10);
  });
});

describe('what went wrong', () => {
  it('is grouped, and the query of each group selects as many as it counts', () => {
    const groups = groupsOf(LIST);
    for (const { query, count } of groups) expect(select(LIST, query)).toHaveLength(count);
    expect(groups.map(({ kind, title, count }) => `${kind}: ${title} (${count})`)).toEqual([
      'domain: Web (4)',
      'domain: Terminal (1)',
      'dimension: Weakest in factuality (3)',
      'dimension: Weakest in format (1)',
      'dimension: Weakest in consistency (1)',
      'dimension: Weakest in realism (1)',
      'dimension: Weakest in quality (1)',
      'fact: No determined fact met (1)',
      'fact: Some determined facts not met (1)',
      'fact: All determined facts met, but not factual (1)',
      'failure: Failed: empty (1)',
      'failure: Failed: judge-timeout (1)',
      'flag: Flag: empty (1)',
      'flag: Flag: truncated (1)',
    ]);
  });

  it('has the words that three claims of a domain share, of four letters or more, without stop words', () => {
    const claim = (k: string, ...u: string[]) => ({ k, v: 0, f: rated(1), u, o: u.length });
    const list = listOf([
      claim('a', 'The prompt shows root', 'that PROMPT has a host, prompt'),
      claim('b', 'prompt: exit code', 'exit with zero'),
      claim('c', 'that exit is exit with the Größe', 'that'),
      { ...claim('d', 'prompt prompt'), d: 1 },
      { ...claim('e', 'prompt', 'exit'), f: rated(5) },
    ]);
    const words = groupsOf(list).filter(({ kind }) => kind === 'word');
    expect(words).toEqual([
      { kind: 'word', title: 'Terminal: exit', count: 2, query: { rating: 'wrong', domain: 'terminal', word: 'exit' } },
      {
        kind: 'word',
        title: 'Terminal: prompt',
        count: 2,
        query: { rating: 'wrong', domain: 'terminal', word: 'prompt' },
      },
    ]);
    const many = Array.from({ length: 30 }, (_, at) => `word${String.fromCharCode(97 + at)}`).join(' ');
    const long = listOf(['a', 'b', 'c'].map((k) => claim(k, many)));
    expect(groupsOf(long).filter(({ kind }) => kind === 'word')).toHaveLength(8);
  });

  it('of a rollout names the first judged turn of each chain with a factuality below 4', () => {
    const turn = (k: string, t: number, s: number, factuality: number, more: object = {}) => ({
      ...{ k, t, s, v: 50, f: rated(factuality) },
      ...more,
    });
    const list = listOf([
      turn('a', 1, 1, 5),
      turn('b', 2, 2, 3),
      turn('c', 3, 3, 1),
      turn('d', 3, 1, 2),
      turn('b', 2, 2, 4, { r: 1 }),
      turn('c', 3, 3, 3, { r: 1 }),
      turn('x', 1, 1, 4, { g: 1 }),
    ]);
    expect(keys(list, { rating: 'lapse', sort: 'turn' })).toEqual(['b', 'd', 'c1']);
    expect(groupsOf(list)[0]).toMatchObject({ kind: 'rollout', count: 3, query: { rating: 'lapse' } });
    expect(choicesOf(list).rating).toContain('lapse');
  });
});
