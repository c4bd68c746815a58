// The view of one sample: its figures, its prediction beside the ground truth, what the judge says, and the texts behind it.

import type { SampleData, SideTextData } from '../data.js';
import { comparison } from './diff.js';
import { count, historyFold, make, part, remarks, textFold, visible } from './dom.js';
import { chosen, data, figures, nameOf, rowHref, samples, scoreText, texts } from './samples.js';

/** Draws the sample of an index, or says that there is none of this key; returns its heading. */
export function drawSample(index: number, key: string, listHref: string): HTMLElement {
  const [sample, row] = [samples[index], texts().rows[index]];
  const home = make('a', { href: listHref }, 'All samples');
  if (sample === undefined || row === undefined) {
    const title = make('h2', { tabindex: '-1' }, 'No such sample');
    const say = make('p', {}, 'This report has no sample of the key ', visible(key), '.');
    part('sample').replaceChildren(make('div', { class: 'path' }, home), title, say);
    return title;
  }
  const title = make('h2', { tabindex: '-1' }, nameOf(sample));
  const other = row.other && { name: data.other ?? '', side: row.other };
  const sides = [{ name: data.run, side: row }, ...(other ? [other] : [])].map(({ name, side }) => ({
    name,
    prediction: side.prediction === undefined ? undefined : text(side.prediction),
    steps: side.steps,
  }));
  const [own, ...others] = sides;
  if (own === undefined) return title;
  const who = data.other === null ? '' : ` of ${data.run}`;
  part('sample').replaceChildren(
    make('div', { class: 'path' }, home, wayOn(index)),
    keys([['j', '→'], 'next'], [['k', '←'], 'previous'], [['Esc'], 'all samples']),
    title,
    make('p', { class: 'note' }, `key ${sample.k} · `, make('a', { href: rowHref(sample) }, 'Link to this sample')),
    ...(row.spent === undefined ? [] : [make('p', { class: 'note' }, row.spent.join(' · '))]),
    ...troublesOf(sample),
    ratingsOf(sample),
    ...comparison(text(row.truth), [own, ...others]),
    verdict(`What the judge says${who}`, row),
    ...(row.other === undefined ? [] : [verdict(`What the judge says of ${data.other}`, row.other)]),
    make(
      'div',
      { class: 'folds' },
      textFold('Action', text(row.action)),
      row.history && historyFold(row.history.map(text)),
      row.system !== undefined && textFold('System prompt', text(row.system)),
    ),
  );
  document.title = `${nameOf(sample)} · ${data.run}`;
  return title;
}

function text(place: number): string {
  return texts().strings[place] ?? '';
}

/** The ways to the samples beside this one in the list, or where it is not in the list, in the report. */
function wayOn(index: number): (HTMLElement | undefined)[] {
  const { found } = chosen;
  const place = found.indexOf(index);
  const link = (by: number, name: string, rel: string) => {
    const to = place === -1 ? index + by : found[place + by];
    return to === undefined || samples[to] === undefined
      ? undefined
      : make('a', { href: `#sample-${to + 1}`, rel }, name);
  };
  const position =
    place === -1
      ? `sample ${count(index + 1)} of ${count(samples.length)}`
      : `${count(place + 1)} of ${count(found.length)}`;
  return [link(-1, 'Previous', 'prev'), link(1, 'Next', 'next'), make('span', { class: 'soft' }, position)];
}

function keys(...parts: readonly (readonly [names: readonly string[], does: string])[]): HTMLElement {
  const children = parts.map(([names, does]) => [names.map((name) => make('kbd', {}, name)), ` ${does} `]);
  return make('p', { class: 'keys note' }, children);
}

/** How it failed, and what is odd about it. */
function troublesOf({ x, y, l }: SampleData): HTMLElement[] {
  const chips = [
    ...(x === undefined ? [] : [make('span', { class: 'chip fail' }, `failed: ${x}`)]),
    ...l.map((flag) => make('span', { class: 'chip' }, flag)),
  ];
  return [
    ...(chips.length === 0 ? [] : [make('p', {}, chips)]),
    ...(y === undefined ? [] : [make('p', { class: 'soft' }, visible(y))]),
  ];
}

/** Its score and figures, with those of the other run where there is one. */
function ratingsOf({ v, f, o }: SampleData): HTMLElement {
  const cell = (name: string, own: string | number | null | undefined, other: string | number | null | undefined) => {
    const was = o !== undefined && make('span', { class: 'soft' }, `was ${other ?? '–'}`);
    return make('div', {}, make('dt', {}, name), make('dd', {}, String(own ?? '–'), was));
  };
  return make(
    'dl',
    { class: 'ratings' },
    cell('Score', scoreText(v), scoreText(o?.v)),
    figures.map(([name], at) => cell(name, f[at], o?.f[at])),
  );
}

function verdict(who: string, { facts, strengths, weaknesses, reply, thoughts }: SideTextData): HTMLElement {
  const listed = facts?.map(({ claim, kind, met }) => `${met ? 'met' : 'not met'}, ${kind}: ${claim}`);
  return make(
    'section',
    { class: 'judge' },
    make('h3', {}, who),
    listed && remarks('Checklist', listed),
    make('div', { class: 'verdicts' }, remarks('Strengths', strengths), remarks('Weaknesses', weaknesses)),
    reply !== undefined && textFold("The judge's whole reply", text(reply)),
    thoughts !== undefined && textFold("The judge's reasoning", text(thoughts)),
  );
}
