// The one query over samples, for the app and for terminals: which of them, in which order, what changed against another run, and what
// went wrong in groups. It runs in browsers, too.

import { countBy, heldIn, keysOf, recordOf } from '../core/groups.js';
import type { ListedSample, SampleList } from './documents.js';

/** What a query says, as it stands in an address. A part that is absent or empty chooses all. `docs/view.md` says what each may be. */
export type Query = { readonly [part in QueryPart]?: string | undefined };

/** A sample that a query selects. */
export interface Selected {
  /** Its place in the list. */
  readonly at: number;
  readonly sample: ListedSample;
  /** Its partner in the other run; absent where it has none. */
  readonly other?: ListedSample | undefined;
  /** Score of this prediction, over all of its judgements, minus that of the other run's; absent unless both have one. */
  readonly change?: number | undefined;
  /** How much better the change made it; absent where no score is better than another. */
  readonly gain?: number | undefined;
}

type Test = (selected: Selected) => boolean;

/** Bands of a score of 0 to 100. What failed is in none of them. */
const BANDS: ReadonlyMap<string, readonly [from: number, to: number]> = new Map([
  ['low', [0, 25]],
  ['fair', [25, 50]],
  ['good', [50, 75]],
  ['high', [75, Number.POSITIVE_INFINITY]],
]);
/** A change by so many points is a large one. */
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
/** What was met of the determined facts that a checklist lists. */
const FACTS: ReadonlyMap<string, FactTest> = new Map<string, FactTest>([
  ['unmet', ({ u = [] }) => u.length > 0],
  ['none', ({ u = [], o }) => u.length > 0 && u.length === o],
  ['some', ({ u = [], o = 0 }) => u.length > 0 && u.length < o],
  ['all', ({ u = [], o = 0 }) => u.length === 0 && o > 0],
]);

/** What each order sorts by, from the least on. @param sign 1 where larger scores are better, -1 where smaller ones are */
type Order = (selected: Selected, sign: number) => number | undefined;
/** The orders without another run, and those that need one; of each the default first. */
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
  /** What it may be; undefined for any text. */
  readonly choices?: (list: SampleList, against?: SampleList) => readonly string[];
  /** Whether a value selects a sample; a value that is not known selects nothing. */
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
  /** A dimension, in small letters, that is rated at 2 or less of 5. */
  dimension: {
    choices: dimensionsOf,
    test: (value, list) => (one) => (valueAt(one.sample, figureAt(list, value)) ?? PERFECT) <= WEAK,
  },
  /** A dimension that no other is rated below, and that is not perfect. */
  weakest: {
    choices: dimensionsOf,
    test: (value, list) => (one) => weakestIn(one.sample).includes(figureAt(list, value)),
  },
  /** What of the determined facts was met. */
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
  /** A text in the key, the name, the note, the claims, the failure or the flags. */
  text: {
    test: (value, list) => (one) => holdsText(list, one.sample, value),
  },
  /** How the score changed against another run. */
  change: {
    choices: (_, against) => (against === undefined ? [] : [...CHANGES.keys()]),
    test: (value) => (one) => CHANGES.get(value)?.(one) === true,
  },
  /** The order, which selects none. */
  sort: {
    choices: (_, against) => [...(against === undefined ? [] : CHANGE_SORTS.keys()), ...SORTS.keys()],
    test: () => () => true,
  },
} satisfies Record<string, Part>;
export type QueryPart = keyof typeof PARTS;
export const QUERY_PARTS: readonly QueryPart[] = keysOf(PARTS);

/** What each part of a query may be; undefined for any text. */
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

/** A sample's domain, trajectory and turn, and its repeat and judgement where it is not the first. */
export function sampleName({ domains }: Pick<SampleList, 'domains'>, { d, g, t, r, j }: ListedSample): string {
  const repeat = r === undefined ? '' : ` · repeat ${r + 1}`;
  return `${domains[d]?.name} · trajectory ${g + 1} · turn ${t}${repeat}${j === undefined ? '' : ` · judgement ${j + 1}`}`;
}

/**
 * The samples that a query selects: the worst first, or with another run by the largest change.
 * @param against the other run, whose same row (of the same repeat and judgement, else repeat, else key) each is held against
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
  // Those without the figure stand last.
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

/** Whether a text is in what the list knows of a sample. */
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

/** Places of the figures that are rated lowest, none where all are perfect. */
function weakestIn({ f = [] }: ListedSample): number[] {
  const least = Math.min(PERFECT, ...f.filter((rating) => rating !== null));
  return least === PERFECT ? [] : f.flatMap((rating, at) => (rating === least ? at : []));
}

/** Whether a sample failed, or is rated below a perfect factuality. */
function isWrong(list: SampleList, sample: ListedSample): boolean {
  return sample.x !== undefined || factualityOf(list, sample) < PERFECT;
}

/** A dimension of the rubric, as the list calls it. What is not rated counts as perfect. */
function factualityOf(list: SampleList, sample: ListedSample): number {
  return valueAt(sample, figureAt(list, 'factuality')) ?? PERFECT;
}

// Against another run.

/** The partner of a sample in another run's list, and what changed. */
function partnersOf(list: SampleList, against: SampleList) {
  const [own, others] = [valuesOf(list, list), valuesOf(against, list)];
  // Of samples of one name the first counts.
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

/** What names a row: with its judgement, with its repeat, and alone. */
function idsOf({ k, r = 0, j = 0 }: ListedSample): string[] {
  return [`${k}#${r}#${j}`, `${k}#${r}`, k];
}

function predictionOf({ k, r = 0 }: ListedSample): string {
  return `${k}#${r}`;
}

/** What the predictions of a run come to in what a list leads with, each the mean over its judgements; none where nothing is alike. */
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

// What went wrong (docs/view.md has the rule).

/** Samples that went wrong in the same way. */
export interface Group {
  readonly kind: 'domain' | 'dimension' | 'fact' | 'failure' | 'flag' | 'word' | 'rollout';
  readonly title: string;
  readonly count: number;
  /** Selects these samples and no others. */
  readonly query: Query;
}

const FACT_TITLES = {
  none: 'No determined fact met',
  some: 'Some determined facts not met',
  all: 'All determined facts met, and yet not factual',
};

/** Kind by kind, and the largest first; groups without a sample are left out. */
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

/** Fewest claims of one domain that share a word, and most words of a domain. */
const FEWEST_CLAIMS = 3;
const MOST_WORDS = 8;

/** Words that say nothing of what went wrong. */
const STOP_WORDS = new Set(
  [
    'about after again also always another because been before both cannot contain contains does each either every exactly',
    'from have having here into itself just made more most must neither never none nothing only other over same several',
    'shall should show shown shows since some such than that their then there these they this those through under until',
    'very were what when where which while will with within without would your',
  ].flatMap((words) => words.split(' ')),
);

/** The words that unmet claims of a domain share, those of most claims first, by the domain's place. */
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

/** The words of four letters or more in a claim, in small letters, each once. */
function wordsIn(claim: string): Set<string> {
  return new Set(claim.toLowerCase().match(/\p{L}{4,}/gu) ?? []);
}

/** A rating of factuality below which a turn of a rollout has lapsed. */
const LAPSE = 4;

/** Places of the samples that are each the first judged turn of its chain with a factuality below 4. */
function firstLapses(list: SampleList): ReadonlySet<number> {
  const lapsed = [...list.samples.entries()].flatMap(([place, sample]) => {
    const { g, t, r = 0, s } = sample;
    const hasLapsed = s !== undefined && factualityOf(list, sample) < LAPSE;
    return hasLapsed ? [[`${g} ${r} ${t - s}`, place] as const] : [];
  });
  // In reading order turns follow each other; of those of one chain the first is set last.
  return new Set(new Map(lapsed.toReversed()).values());
}
