// A sample in lists and headings: its name, score, ratings and flags.

import { rowId } from '../../core/row-id.js';
import type { ListedSample, SampleList } from '../documents.js';
import { DASH, signed } from '../figures.js';
import type { Selected } from '../query.js';
import { visible } from './text.js';

/** The record id of a sample, used in addresses. */
export function idOf({ k, r = 0, j }: ListedSample): string {
  return rowId(k, r, j);
}

/** Its score, and the change from the other run, coloured as better or worse. */
export function Score({ list, of }: { readonly list: SampleList; readonly of: Selected }) {
  const { sample, change, gain = 0 } = of;
  const { decimals } = list.lead;
  return (
    <span class="row score">
      {change !== undefined && (
        <span class={gain === 0 ? 'soft' : gain < 0 ? 'bad' : 'good'}>{signed(change, decimals)}</span>
      )}
      <b>{sample.v?.toFixed(decimals) ?? DASH}</b>
    </span>
  );
}

/** A figure of a sample, in the colour of its fifth of the scale. */
export function Pip({ list, sample, at }: { list: SampleList; sample: ListedSample; at: number }) {
  const [value, [name, end]] = [sample.f?.[at], list.figures[at] ?? ['', null]];
  const band = value == null || end === null ? 0 : 1 + Math.floor(end === 5 ? Math.round(value) - 1 : value / 20);
  const text =
    value == null ? DASH : end === 100 ? value.toFixed(0) : String(Number(value.toPrecision(end === 5 ? 2 : 3)));
  return (
    <span class="pip" style={{ '--rating': `var(--r${Math.min(5, band)})` }} title={name}>
      <span class="unseen">{name} </span>
      {text}
    </span>
  );
}

/** Its ratings, its failure and its flags. */
export function Marks({ list, sample }: { readonly list: SampleList; readonly sample: ListedSample }) {
  return (
    <span class="marks">
      {sample.f !== undefined && (
        <span class="pips">
          {list.figures.map((_, at) => (
            <Pip list={list} sample={sample} at={at} />
          ))}
        </span>
      )}{' '}
      {sample.x !== undefined && <span class="chip bad">{visible(sample.x)}</span>}
      {sample.l?.map((flag) => (
        <span class="chip">{visible(flag)}</span>
      ))}
    </span>
  );
}
