// The view of one sample: its figures, its prediction beside the ground truth, what the judge says, and the texts behind it.

import type { Fact } from '../../core/facts.js';
import type { SampleData, SideTextData } from '../data.js';
import { data, figures, from, hrefOf, nameOf, rowHref, samples, scoreText, type Texts, textsOf } from './data.js';
import { fold, make, part } from './dom.js';
import { chosen } from './filters.js';
import { historyFold } from './history.js';
import { count, sizeOf } from './numbers.js';
import { comparisonOf } from './side-by-side.js';
import { block, visible } from './visible.js';

/** Draws the sample of an index of the whole report; returns its heading. */
export function drawSample(index: number, listHref: string): HTMLElement {
  const sample = samples[index - from];
  if (sample === undefined) throw new Error(`the page has no sample ${index + 1}`);
  const texts = textsOf(index);
  const { row, text } = texts;
  const whole = (title: string, place: number) => fold(title, sizeOf(text(place)), () => [block(text(place))]);
  const title = make('h2', { tabindex: '-1' }, nameOf(sample));
  part('sample').replaceChildren(
    pathTo(index, listHref),
    keys([['j', '→'], 'next'], [['k', '←'], 'previous'], [['Esc'], 'all samples']),
    title,
    make('p', { class: 'note' }, `key ${sample.k} · `, make('a', { href: rowHref(sample) }, 'Link to this sample')),
    ...(row.spent === undefined ? [] : [make('p', { class: 'note' }, row.spent.join(' · '))]),
    ...troublesOf(sample),
    ratingsOf(sample),
    ...comparisonOf(texts),
    verdict(`What the judge says${data.other === null ? '' : ` of ${data.run}`}`, row, texts),
    ...(row.other === undefined ? [] : [verdict(`What the judge says of ${data.other}`, row.other, texts)]),
    make(
      'div',
      { class: 'folds' },
      whole('Action', row.action),
      historyFold(row.history.map(text)),
      row.system === undefined ? undefined : whole('System prompt', row.system),
    ),
  );
  document.title = `${nameOf(sample)} · ${data.run}`;
  return title;
}

/** Says that there is no sample of this key; returns the heading. */
export function drawMissing(key: string, listHref: string): HTMLElement {
  const title = make('h2', { tabindex: '-1' }, 'No such sample');
  const say = make('p', {}, 'This report has no sample of the key ', ...visible(key), '.');
  part('sample').replaceChildren(
    make('div', { class: 'path' }, make('a', { href: listHref }, 'All samples')),
    title,
    say,
  );
  return title;
}

/** The way back to the list, and to the samples beside this one there. */
function pathTo(index: number, listHref: string): HTMLElement {
  const { found } = chosen;
  const place = found.findIndex((one) => one.index === index - from);
  const near = (by: number) => {
    if (place === -1) return index + by;
    const beside = found[place + by];
    return beside === undefined ? -1 : beside.index + from;
  };
  const link = (to: number, text: string, rel: string) =>
    to >= 0 && to < data.total ? make('a', { href: hrefOf(to), rel }, text) : undefined;
  const position =
    place === -1
      ? `sample ${count(index + 1)} of ${count(data.total)}`
      : `${count(place + 1)} of ${count(found.length)}`;
  return make(
    'div',
    { class: 'path' },
    make('a', { href: listHref }, 'All samples'),
    link(near(-1), 'Previous', 'prev'),
    link(near(1), 'Next', 'next'),
    make('span', { class: 'soft' }, position),
  );
}

function keys(...parts: readonly (readonly [names: readonly string[], does: string])[]): HTMLElement {
  const children = parts.flatMap(([names, does]) => [...names.map((name) => make('kbd', {}, name)), ` ${does} `]);
  return make('p', { class: 'keys note' }, ...children);
}

/** How it failed, and what is odd about it. */
function troublesOf({ x, y, l }: SampleData): HTMLElement[] {
  const chips = [
    ...(x === undefined ? [] : [make('span', { class: 'chip fail' }, `failed: ${x}`)]),
    ...l.map((flag) => make('span', { class: 'chip' }, flag)),
  ];
  return [
    ...(chips.length === 0 ? [] : [make('p', {}, ...chips)]),
    ...(y === undefined ? [] : [make('p', { class: 'soft' }, ...visible(y))]),
  ];
}

/** Its score and figures, with those of the other run where there is one. */
function ratingsOf(sample: SampleData): HTMLElement {
  const cell = (name: string, own: string | number | null | undefined, other: string | number | null | undefined) => {
    const was = sample.o === undefined ? undefined : make('span', { class: 'soft' }, `was ${other ?? '–'}`);
    return make('div', {}, make('dt', {}, name), make('dd', {}, String(own ?? '–'), was));
  };
  return make(
    'dl',
    { class: 'ratings' },
    cell('Score', scoreText(sample.v), scoreText(sample.o?.v)),
    ...figures.map(([name], at) => cell(name, sample.f[at], sample.o?.f[at])),
  );
}

function verdict(who: string, side: SideTextData, { text }: Texts): HTMLElement {
  const list = (title: string, items: readonly string[]) => {
    const lines = items.map((item) => make('li', {}, ...visible(item.replace(/\s+/g, ' '))));
    const shown = items.length === 0 ? make('p', { class: 'soft' }, 'None named.') : make('ul', {}, ...lines);
    return make('div', {}, make('h4', {}, title), shown);
  };
  const whole = (title: string, place: number | undefined) =>
    place === undefined ? undefined : fold(title, sizeOf(text(place)), () => [block(text(place))]);
  return make(
    'section',
    { class: 'judge' },
    make('h3', {}, who),
    side.facts && list('Checklist', side.facts.map(factText)),
    make('div', { class: 'verdicts' }, list('Strengths', side.strengths), list('Weaknesses', side.weaknesses)),
    whole("The judge's whole reply", side.reply),
    whole("The judge's reasoning", side.thoughts),
  );
}

function factText({ claim, kind, met }: Fact): string {
  return `${met ? 'met' : 'not met'}, ${kind}: ${claim}`;
}
