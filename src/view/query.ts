// The query over samples, for the app and for terminals: selection, order, changes from another run, and groups of what went wrong. It also
// runs in browsers.

import { countBy, heldIn, keysOf, recordOf } from '../core/groups.js';
import type { ListedSample, SampleList } from './documents.js';

/** A query, as in an address. An absent or empty part selects all. `docs/view.md` lists the values of each part. */
export type Query = { readonly [part in QueryPart]?: string | undefined };

/** A sample that a query selects. */
export interface Selected {
  /** Its index in the list. */
  readonly at: number;
  readonly sample: ListedSample;
  /** The same row in the other run; absent if there is none. */
  readonly other?: ListedSample | undefined;
  /** This prediction's score, over all its judgements, minus the other run's; absent unless both have one. */
  readonly change?: number | undefined;
  /** The improvement; absent if scores have no better direction. */
  readonly gain?: number | undefined;
}

type Test = (selected: Selected) => boolean;

/** Bands of a score of 0 to 100. Failed samples are in none. */
const BANDS: ReadonlyMap<string, readonly [from: number, to: number]> = new Map([
  ['low', [0, 25]],
  ['fair', [25, 50]],
  ['good', [50, 75]],
  ['high', [75, Number.POSITIVE_INFINITY]],
]);
/** Points from which a change counts as large. */
const LARGE = 25;
/** A rating up to which a dimension counts as weak. */
const WEAK = 2;
const PERFECT = 5;

const CHANGES: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['worse', ({ gain = 0 }) => gain < 0],
  ['same', ({ change }) => change === 0],
  ['better', ({ gain = 0 }) => gain > 0],
  ['moved', ({ change = 0 }) => Math.abs(change) >= LARGE],
  ['alone', ({ other }) => other === undefined],
]);

type FactTest = (sample: ListedSample) => boolean;
/** Which of a checklist's determined facts were met. */
const FACTS: ReadonlyMap<string, FactTest> = new Map<string, FactTest>([
  ['unmet', ({ u = [] }) => u.length > 0],
  ['none', ({ u = [], o }) => u.length > 0 && u.length === o],
  ['some', ({ u = [], o = 0 }) => u.length > 0 && u.length < o],
  ['all', ({ u = [], o = 0 }) => u.length === 0 && o > 0],
]);

/** Sort key of an order, ascending. @param sign 1 if larger scores are better, -1 if smaller ones are */
type Order = (selected: Selected, sign: number) => number | undefined;
/** The orders without another run, and those that need one; the default is first. */
const SORTS: ReadonlyMap<string, Order> = new Map<string, Order>([
  ['worst', ({ sample: { v } }, sign) => v && sign * v],
  ['best', ({ sample: { v } }, sign) => v && -sign * v],
  ['turn', () => 0],
]);
const CHANGE_SORTS: ReadonlyMap<string, Order> = new Map<string, Order>([
  ['change', ({ change }) => change && -Math.abs(change)],
  ['drop', ({ gain }) => gain],
  ['gain', ({ gain }) => gain && -gain],
]);

/** A part of a query. */
interface Part {
  /** Its possible values; undefined for any text. */
  readonly choices?: (list: SampleList, against?: SampleList) => readonly string[];
  /** Whether a value selects a sample; an unknown value selects nothing. */
  readonly test: (value: string, list: SampleList) => Test;
}

const PARTS = {
  /** A domain, by its name in the data. */
  domain: {
    choices: ({ domains }) => domains.map(({ domain }) => domain),
    test: (value, list) => (one) => list.domains[one.sample.d]?.domain === value,
  },
  /** A band of the score, `failed`, `wrong` (below a perfect factuality, or failed) or `lapse` (see `firstLapses`). */
  rating: {
    choices: (list) => {
      const { from, to, better } = list.lead;
      const hasBands = from === 0 && to === 100 && better === 'larger';
      const isRollout = list.samples.some(({ s }) => s !== undefined);
      return [...(hasBands ? BANDS.keys() : []), 'failed', 'wrong', ...(isRollout ? ['lapse'] : [])];
    },
    test: ratingTest,
  },
  /** A dimension, in lower case, with a rating of at most 2 of 5. */
  dimension: {
    choices: dimensionsOf,
    test: (value, list) => (one) => (valueAt(one.sample, figureAt(list, value)) ?? PERFECT) <= WEAK,
  },
  /** The lowest-rated dimension (or one of several), if it is not perfect. */
  weakest: {
    choices: dimensionsOf,
    test: (value, list) => (one) => weakestIn(one.sample).includes(figureAt(list, value)),
  },
  /** Which of the determined facts were met. */
  fact: {
    choices: ({ samples }) => (samples.some(({ o }) => o !== undefined) ? [...FACTS.keys()] : []),
    test: (value) => (one) => one.sample.o !== undefined && FACTS.get(value)?.(one.sample) === true,
  },
  failure: {
    choices: ({ samples }) => namesIn(samples.flatMap(({ x }) => x ?? [])),
    test: (value) => (one) => one.sample.x === value,
  },
  flag: {
    choices: ({ samples }) => namesIn(samples.flatMap(({ l = [] }) => l)),
    test: (value) => (one) => one.sample.l?.includes(value) === true,
  },
  /** A word of an unmet claim. */
  word: {
    test: (value) => (one) => one.sample.u?.some((claim) => wordsIn(claim).has(value.toLowerCase())) === true,
  },
  /** Text in the key, the name, the note, the claims, the failure or the flags. */
  text: {
    test: (value, list) => (one) => holdsText(list, one.sample, value),
  },
  /** How the score changed from another run. */
  change: {
    choices: (_, against) => (against === undefined ? [] : [...CHANGES.keys()]),
    test: (value) => (one) => CHANGES.get(value)?.(one) === true,
  },
  /** The order; it does not filter. */
  sort: {
    choices: (_, against) => [...(against === undefined ? [] : CHANGE_SORTS.keys()), ...SORTS.keys()],
    test: () => () => true,
  },
} satisfies Record<string, Part>;
export type QueryPart = keyof typeof PARTS;
export const QUERY_PARTS: readonly QueryPart[] = keysOf(PARTS);

/** The possible values of each part of a query; undefined for any text. */
export function choicesOf(list: SampleList, against?: SampleList): Record<QueryPart, readonly string[] | undefined> {
  const parts: Readonly<Record<QueryPart, Part>> = PARTS;
  return recordOf(QUERY_PARTS, (part) => parts[part].choices?.(list, against));
}

function dimensionsOf({ figures }: SampleList): string[] {
  return figures.flatMap(([name, end]) => (end === PERFECT ? name.toLowerCase() : []));
}

function namesIn(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

/** A sample's domain, trajectory and turn, and its repeat and judgement if not the first. */
export function sampleName({ domains }: Pick<SampleList, 'domains'>, { d, g, t, r, j }: ListedSample): string {
  const repeat = r === undefined ? '' : ` · repeat ${r + 1}`;
  return `${domains[d]?.name} · trajectory ${g + 1} · turn ${t}${repeat}${j === undefined ? '' : ` · judgement ${j + 1}`}`;
}

/**
 * The samples that a query selects: worst first, or with another run by the largest change.
 * @param against the other run; each sample is compared with its same row there (same repeat and judgement, else repeat, else key)
 */
export function select(list: SampleList, query: Query, against?: SampleList): Selected[] {
  const partners = against && partnersOf(list, against);
  const tests = QUERY_PARTS.flatMap((part) => (query[part] ? PARTS[part].test(query[part], list) : []));
  const found = list.samples
    .map((sample, at): Selected => ({ at, sample, ...partners?.(sample) }))
    .filter((selected) => tests.every((test) => test(selected)));
  const sort = query.sort || (against === undefined ? 'worst' : 'change');
  const order = SORTS.get(sort) ?? CHANGE_SORTS.get(sort);
  const sign = list.lead.better === 'smaller' ? -1 : 1;
  // Samples without the figure come last.
  const place = (selected: Selected) => order?.(selected, sign) ?? Number.POSITIVE_INFINITY;
  return found.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
}

function ratingTest(value: string, list: SampleList): Test {
  if (value === 'failed') return ({ sample }) => sample.x !== undefined;
  if (value === 'wrong') return ({ sample }) => isWrong(list, sample);
  if (value === 'lapse') {
    const lapses = firstLapses(list);
    return ({ at }) => lapses.has(at);
  }
  const [from, to] = BANDS.get(value) ?? [0, 0];
  return ({ sample: { v, x } }) => v !== undefined && x === undefined && v >= from && v < to;
}

/** Whether a text occurs in the list's data of a sample. */
export function holdsText(list: SampleList, sample: ListedSample, wanted: string): boolean {
  const { k, n = '', x = '', y = '', l = [], u = [] } = sample;
  const sought = wanted.trim().toLowerCase();
  return [k, sampleName(list, sample), n, x, y, ...l, ...u].some((text) => text.toLowerCase().includes(sought));
}

function figureAt({ figures }: SampleList, name: string): number {
  return figures.findIndex(([figure]) => figure.toLowerCase() === name.toLowerCase());
}

function valueAt({ f }: ListedSample, at: number): number | undefined {
  return f?.[at] ?? undefined;
}

/** Indices of the lowest ratings; none if all are perfect. */
function weakestIn({ f = [] }: ListedSample): number[] {
  const least = Math.min(PERFECT, ...f.filter((rating) => rating !== null));
  return least === PERFECT ? [] : f.flatMap((rating, at) => (rating === least ? at : []));
}

/** Whether a sample failed, or its factuality is not perfect. */
function isWrong(list: SampleList, sample: ListedSample): boolean {
  return sample.x !== undefined || factualityOf(list, sample) < PERFECT;
}

/** A sample's factuality. An unrated one counts as perfect. */
function factualityOf(list: SampleList, sample: ListedSample): number {
  return valueAt(sample, figureAt(list, 'factuality')) ?? PERFECT;
}

// Comparison with another run.

/** The partner of a sample in another run's list, and what changed. */
function partnersOf(list: SampleList, against: SampleList) {
  const [own, others] = [valuesOf(list, list), valuesOf(against, list)];
  // Of samples with the same id, the first counts.
  const named = new Map(against.samples.toReversed().flatMap((sample) => idsOf(sample).map((id) => [id, sample])));
  const { better } = list.lead;
  return (sample: ListedSample): Omit<Selected, 'at' | 'sample'> => {
    const other = idsOf(sample).flatMap((id) => named.get(id) ?? [])[0];
    const [now, before] = [own.get(predictionOf(sample)), other && others.get(predictionOf(other))];
    if (now === undefined || before === undefined) return { other };
    const change = now - before;
    return { other, change, gain: better === 'neither' ? undefined : better === 'smaller' ? -change : change };
  };
}

/** Ids of a row: with its judgement, with its repeat, and its key only. */
function idsOf({ k, r = 0, j = 0 }: ListedSample): string[] {
  return [`${k}#${r}#${j}`, `${k}#${r}`, k];
}

function predictionOf({ k, r = 0 }: ListedSample): string {
  return `${k}#${r}`;
}

/** A run's predictions in the list's leading figure, each the mean over its judgements; empty if the run has no such figure. */
function valuesOf({ samples, figures }: SampleList, { lead, figures: own }: SampleList): ReadonlyMap<string, number> {
  const isRated = figures.some(([, end]) => end === PERFECT);
  const isAlike = isRated === own.some(([, end]) => end === PERFECT);
  const measure = figures.findIndex(([name]) => name === lead.name);
  const values = new Map<string, number[]>();
  for (const sample of isAlike ? samples : []) {
    const value = isRated ? sample.v : valueAt(sample, measure);
    if (value !== undefined) heldIn(values, predictionOf(sample), () => []).push(value);
  }
  return new Map(Array.from(values, ([id, all]) => [id, all.reduce((sum, value) => sum + value, 0) / all.length]));
}

// Groups of what went wrong (rules in docs/view.md).

/** Samples with the same problem. */
export interface Group {
  readonly kind: 'domain' | 'dimension' | 'fact' | 'failure' | 'flag' | 'word' | 'rollout';
  readonly title: string;
  readonly count: number;
  /** Selects exactly these samples. */
  readonly query: Query;
}

const FACT_TITLES = {
  none: 'No determined fact met',
  some: 'Some determined facts not met',
  all: 'All determined facts met, but not factual',
};

/** By kind, largest first; empty groups are left out. */
export function groupsOf(list: SampleList): Group[] {
  const { domain = [], weakest = [], failure = [], flag = [] } = choicesOf(list);
  const nameOf = (place: number) => list.domains[place]?.name ?? '';
  type Titled = readonly [title: string, query: Query];
  const of = <T>(kind: Group['kind'], items: readonly T[], titled: (item: T, place: number) => Titled) =>
    items
      .map((item, place): Group => {
        const [title, part] = titled(item, place);
        const query = { rating: 'wrong', ...part };
        return { kind, title, query, count: select(list, query).length };
      })
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count);
  return [
    ...of('rollout', ['lapse'], (rating) => ['First turn of a rollout with a factuality below 4', { rating }]),
    ...of('domain', domain, (name, place) => [nameOf(place), { domain: name }]),
    ...of('dimension', weakest, (name) => [`Weakest in ${name}`, { weakest: name }]),
    ...of('fact', Object.entries(FACT_TITLES), ([fact, title]) => [title, { fact }]),
    ...of('failure', failure, (name) => [`Failed: ${name}`, { failure: name }]),
    ...of('flag', flag, (name) => [`Flag: ${name}`, { flag: name }]),
    ...of('word', sharedWords(list), ([place, word]) => [`${nameOf(place)}: ${word}`, { domain: domain[place], word }]),
  ];
}

/** Fewest claims of a domain that must share a word, and most words per domain. */
const FEWEST_CLAIMS = 3;
const MOST_WORDS = 8;

/** Words that say nothing about what went wrong. */
const STOP_WORDS = new Set(
  [
    'about after again also always another because been before both cannot contain contains does each either every exactly',
    'from have having here into itself just made more most must neither never none nothing only other over same several',
    'shall should show shown shows since some such than that their then there these they this those through under until',
    'very were what when where which while will with within without would your',
  ].flatMap((words) => words.split(' ')),
);

/** Words that a domain's unmet claims share, the most frequent first, with the domain's index. */
function sharedWords(list: SampleList): (readonly [domain: number, word: string])[] {
  return list.domains.flatMap((_, place) => {
    const claims = list.samples.flatMap((sample) =>
      sample.d === place && isWrong(list, sample) ? (sample.u ?? []) : [],
    );
    return Object.entries(countBy(claims.flatMap((claim) => [...wordsIn(claim)])))
      .filter(([word, count]) => count >= FEWEST_CLAIMS && !STOP_WORDS.has(word))
      .sort(([a, most], [b, count]) => count - most || (a < b ? -1 : 1))
      .slice(0, MOST_WORDS)
      .map(([word]) => [place, word] as const);
  });
}

/** The distinct words of four letters or more in a claim, in lower case. */
function wordsIn(claim: string): Set<string> {
  return new Set(claim.toLowerCase().match(/\p{L}{4,}/gu) ?? []);
}

/** Factuality below which a turn of a rollout counts as a lapse. */
const LAPSE = 4;

/** Indices of samples that are the first judged turn of their chain with a factuality below 4. */
function firstLapses(list: SampleList): ReadonlySet<number> {
  const lapsed = [...list.samples.entries()].flatMap(([place, sample]) => {
    const { g, t, r = 0, s } = sample;
    const hasLapsed = s !== undefined && factualityOf(list, sample) < LAPSE;
    return hasLapsed ? [[`${g} ${r} ${t - s}`, place] as const] : [];
  });
  // Turns are in reading order; reversed, the first turn of each chain is set last and stays.
  return new Set(new Map(lapsed.toReversed()).values());
}
