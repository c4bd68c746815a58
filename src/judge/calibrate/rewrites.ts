// Neutral rewrites of the truth: what another run would have said in other words, and what must cost nothing.

import { present } from '../../core/present.js';
import { type Random, shuffled } from '../../core/random.js';
import { withOtherRuntime } from './runtime.js';
import { tokensOf } from './tokens.js';
import { type JsonSpan, readJson, withReplaced } from './units.js';
import { changed, type Variant } from './variant.js';

export const REWRITES = {
  'rewrite-runtime': {
    family: 'rewrite',
    help: 'times, durations, process ids, hashes and temporary names of another run',
    make: ({ sample, random }) => changed(sample, () => withOtherRuntime(tokensOf(sample), random)),
  },
  'rewrite-keys': rewrite('keys of JSON in another order', withOtherKeys),
  'rewrite-space': rewrite('white space at the ends of lines', withOtherSpace),
} satisfies Record<string, Variant>;

function rewrite(help: string, write: (text: string, random: Random) => string | undefined): Variant {
  return {
    family: 'rewrite',
    help,
    make: ({ sample, random }) => changed(sample, (text) => write(text, random)),
  };
}

const FENCED = /^```(?:json)?[ \t]*\n([\s\S]*?)\n```/gm;

/** The text with the members of its objects in another order, their texts unchanged; undefined where there is nothing to reorder. */
function withOtherKeys(text: string, random: Random): string | undefined {
  const whole = readJson(text, 0, text.length);
  const fenced = whole !== undefined ? [] : Array.from(text.matchAll(FENCED));
  const inFences = fenced.flatMap((match) => {
    const start = match.index + match[0].indexOf('\n') + 1;
    return readJson(text, start, start + present(match[1]).length) ?? [];
  });
  const render = rendererOf(text, random);
  const nodes = whole === undefined ? inFences : [whole];
  const made = withReplaced(
    text,
    nodes.map((node) => ({ start: node.start, end: node.end, by: render(node) })),
  );
  return made === text ? undefined : made;
}

/** Objects with the same keys get the same order, as the records of a list have. What stands between members stays in its place. */
function rendererOf(text: string, random: Random): (node: JsonSpan) => string {
  const orders = new Map<string, readonly number[]>();
  const render = (node: JsonSpan): string => {
    const members = node.parts.map(
      ({ key, value }) => (key === undefined ? '' : text.slice(key.start, value.start)) + render(value),
    );
    const order = orderOf(node);
    const changes = node.parts.map(({ key, value }, place) => ({
      start: (key ?? value).start - node.start,
      end: value.end - node.start,
      by: present(members[order[place] ?? place]),
    }));
    return withReplaced(text.slice(node.start, node.end), changes);
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
  const order = shuffled([...Array(length).keys()], random);
  return order.every((from, place) => from === place) ? [...order.slice(1), present(order[0])] : order;
}

/** A line that says something and is not the last; a backslash at a line's end would lose its meaning. */
const LINE_END = /[^\s\\](?=\r?\n)/g;

/** The text with a space behind some of its lines; undefined where it has one line alone. */
function withOtherSpace(text: string, random: Random): string | undefined {
  const ends = Array.from(text.matchAll(LINE_END), ({ index }) => index + 1);
  if (ends.length === 0) return undefined;
  const certain = Math.floor(random.uniform() * ends.length);
  const chosen = ends.filter((_, place) => random.uniform() < 0.5 || place === certain);
  return withReplaced(
    text,
    chosen.map((end) => ({ start: end, end, by: ' ' })),
  );
}
