// The truth with the keys of its JSON in another order: to JSON that is the same value.

import { present } from '../../present.js';
import type { Random } from '../../random.js';
import { type JsonSpan, readJson } from '../json-spans.js';

const FENCED = /^```(?:json)?[ \t]*\n([\s\S]*?)\n```/gm;

/** The text with the members of its objects in another order, their texts unchanged; undefined where there is nothing to reorder. */
export function withOtherKeys(text: string, random: Random): string | undefined {
  const render = rendererOf(text, random);
  const whole = readJson(text, 0, text.length);
  let made = '';
  let at = 0;
  const add = (node: JsonSpan) => {
    made += text.slice(at, node.start) + render(node);
    at = node.end;
  };
  if (whole !== undefined) add(whole);
  else
    for (const match of text.matchAll(FENCED)) {
      const start = match.index + match[0].indexOf('\n') + 1;
      const node = readJson(text, start, start + present(match[1]).length);
      if (node !== undefined) add(node);
    }
  made += text.slice(at);
  return made === text ? undefined : made;
}

/** Objects with the same keys get the same order, as the records of a list have. What stands between members stays in its place. */
function rendererOf(text: string, random: Random): (node: JsonSpan) => string {
  const orders = new Map<string, readonly number[]>();
  const render = (node: JsonSpan): string => {
    const slots = node.parts.map(({ key, value }) => ({ start: key?.start ?? value.start, end: value.end }));
    const members = node.parts.map(
      ({ key, value }) => (key === undefined ? '' : text.slice(key.start, value.start)) + render(value),
    );
    const order = orderOf(node);
    let made = '';
    let at = node.start;
    for (const [place, slot] of slots.entries()) {
      made += text.slice(at, slot.start) + present(members[order[place] ?? place]);
      at = slot.end;
    }
    return made + text.slice(at, node.end);
  };
  const orderOf = (node: JsonSpan): readonly number[] => {
    const keys = node.parts.flatMap(({ key }) => (key === undefined ? [] : [text.slice(key.start, key.end)]));
    // Of two members of one name, the last counts; numbers for keys are in the order that they name.
    if (keys.length < 2 || hasTwins(keys) || keys.every((key) => /^"-?\d+"$/.test(key))) return [];
    const name = keys.join(' ');
    const order = orders.get(name) ?? otherOrder(keys.length, random);
    orders.set(name, order);
    return order;
  };
  return render;
}

/** Whether two keys are one name, however they are escaped. */
function hasTwins(keys: readonly string[]): boolean {
  return new Set(keys.map((key): unknown => JSON.parse(key))).size < keys.length;
}

/** An order in which at least one stands elsewhere. */
function otherOrder(length: number, random: Random): number[] {
  const order = Array.from({ length }, (_, place) => place);
  for (let last = length - 1; last > 0; last--) {
    const other = Math.floor(random.uniform() * (last + 1));
    [order[last], order[other]] = [present(order[other]), present(order[last])];
  }
  return order.every((from, place) => from === place) ? [...order.slice(1), present(order[0])] : order;
}
