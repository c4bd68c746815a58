// Leaderboards of measures: a measure's declaration decides which run is best, and the order.

import { describe, expect, it } from 'vitest';
import { blocksOf, cellsOf, METRICS, names, run } from '../../support/boards.js';
import { measureOf } from '../../support/measures.js';

const measured = (label: string, measure: string, value: number) =>
  run(label, 0, { judgedWith: METRICS, measures: { [measure]: value } });

describe('a block of a measure', () => {
  it.each([
    ['bits_a_byte', ['large', 'small', 'middle'], [3.2, 0.8, 1.6], ['small', 'middle', 'large']],
    ['taken_for_real', ['fooled', 'close', 'plain'], [70, 46, 20], ['close', 'fooled', 'plain']],
    ['chrf', ['middle', 'best', 'last'], [50, 60, 40], ['best', 'middle', 'last']],
  ])('of %s has the best first, marks it, and says which direction is better', (measure, labels, values, order) => {
    const runs = labels.map((label, index) => measured(label, measure, values[index] ?? 0));
    const asked: string[] = [];
    const [block] = blocksOf(runs, { measure, measureOf }, (best, other) => {
      asked.push(`${best.label}:${other.label}`);
      return best.label === order[1];
    });
    expect(names(block)).toEqual(order);
    expect(block?.rows.map((row) => row.marked.has('overall'))).toEqual([true, false, false]);
    expect(asked).toContain(`${order[0]}:${order[1]}`);
    const says = {
      bits_a_byte: 'measure, 0 or more, smaller is better',
      taken_for_real: 'measure, 0-100, best at 50',
      chrf: 'text measure of prediction against ground truth, 0-100',
    };
    expect(block?.legend[0]).toBe(`${measure}: ${new Map(Object.entries(says)).get(measure)}; not a rating.`);
  });

  it.each([
    ['that its mode declares to lead', 'taken_for_real', undefined, 'Measure taken_for_real, no judge'],
    ['that is requested', 'taken_for_real', 'length', 'Measure length, no judge'],
    ['that comes first', undefined, undefined, 'Measure length, no judge'],
    ['that leads, if it lacks the requested one', 'taken_for_real', 'chrf', 'Measure taken_for_real, no judge'],
  ])('is of the measure %s', (_which, lead, measure, title) => {
    const measures = { length: 7, taken_for_real: 60 };
    const judgedWith = { kind: 'turing', rates: false, lead, protocol: 'history' };
    const runs = [run('a', 0, { judgedWith, measures }), measured('b', 'chrf', 1)];
    const blocks = blocksOf(runs, { measure, measureOf });
    expect(blocks.map((block) => block.title)).toContain(`${title}, protocol history`);
    expect(blocks.every((block) => block.rows[0]?.figures.has('overall'))).toBe(true);
  });

  it('names the judge of a mode that asks one', () => {
    const judgedWith = { kind: 'turing', rates: false, judge: 'some-judge', protocol: 'history' };
    const [block] = blocksOf([run('a', 0, { judgedWith, measures: { length: 7 } })], { measure: undefined, measureOf });
    expect(block?.title).toBe('Measure length, judge some-judge, protocol history');
  });

  it('shows values beyond 100 unchanged', () => {
    const [block] = blocksOf([measured('a', 'bits_a_byte', 123.456)], { measure: 'bits_a_byte', measureOf });
    expect(cellsOf(block, 'a')).toContain('123.46');
  });

  it('marks no run if neither direction is better, and calls none untested', () => {
    const runs = [measured('a', 'length', 10), measured('b', 'length', 20)];
    const [block] = blocksOf(runs, { measure: 'length', measureOf }, () => true);
    expect(block?.rows.flatMap((row) => [...row.marked])).toEqual([]);
    expect(block?.notes.join(' ')).not.toContain('not tested');
    expect(names(block)).toEqual(['b', 'a']);
  });

  it('shows the best run of a name', () => {
    const runs = [measured('a', 'bits_a_byte', 2), measured('a', 'bits_a_byte', 1), measured('a', 'bits_a_byte', 3)];
    const [block] = blocksOf(runs, { measure: 'bits_a_byte', measureOf, show: 'best' });
    expect(block?.rows.map((row) => row.figures.get('overall')?.value)).toEqual([1]);
  });
});
