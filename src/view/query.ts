// The one query over samples, for the app and for terminals: which of them, in which order, what changed against another run, and what
// went wrong in groups. It runs in browsers, too.

import type { ListedSample, SampleList } from './documents.js';

/** What a query says, as it stands in an address. A part that is absent or empty chooses all. `choicesOf` lists what each may be. */
export const QUERY_PARTS = [
  /** A domain, by its name in the data. */
  'domain',
  /** A band of the score, `failed`, `wrong` (below a perfect factuality, or failed) or `lapse` (see `isLapse`). */
  'rating',
  /** A dimension, in small letters, that is rated at 2 or less of 5. */
  'dimension',
  /** A dimension that no other is rated below, and that is not perfect. */
  'weakest',
  /** What of the determined facts was met. */
  'fact',
  'failure',
  'flag',
  /** A word of an unmet claim. */
  'word',
  /** A text in the key, the name, the note, the claims, the failure or the flags. */
  'text',
  /** How the score changed against another run. */
  'change',
  'sort',
] as const;
export type QueryPart = (typeof QUERY_PARTS)[number];
export type Query = { readonly [part in QueryPart]?: string | undefined };

/** A sample that a query selects. */
export interface SelectedSample {
  /** Its place in the list. */
  readonly at: number;
  /** The place of its partner in the other run's list; absent where it has none. */
  readonly other?: number | undefined;
  /** Score of this prediction, over all of its judgements, minus that of the other run's; absent unless both have one. */
  readonly change?: number | undefined;
}

/** A sample with what is known of it besides. */
interface Known extends SelectedSample {
  readonly sample: ListedSample;
  /** How much better the change made it; absent where no score is better than another. */
  readonly gain?: number | undefined;
}

type Test = (known: Known) => boolean;

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

type FactTest = (unmet: number, determined: number) => boolean;
/** What was met of the determined facts that a checklist lists. */
const FACTS: ReadonlyMap<string, FactTest> = new Map<string, FactTest>([
  ['unmet', (unmet) => unmet > 0],
  ['none', (unmet, determined) => unmet > 0 && unmet === determined],
  ['some', (unmet, determined) => unmet > 0 && unmet < determined],
  ['all', (unmet, determined) => unmet === 0 && determined > 0],
]);

/** What samples are sorted by, from the least on; those without it stand last. Undefined: as they are read. */
type Order = (known: Known) => number | undefined;

/** The orders without and with another run, the default first. */
function ordersOf({ lead }: SampleList): Readonly<Record<'own' | 'changed', ReadonlyMap<string, Order | undefined>>> {
  const goodness: Order = ({ sample: { v } }) => (v === undefined || lead.better !== 'smaller' ? v : -v);
  const gain: Order = (known) => known.gain;
  const minus = (order: Order): Order => {
    return (known) => {
      const place = order(known);
      return place === undefined ? undefined : -place;
    };
  };
  const moved: Order = ({ change }) => (change === undefined ? undefined : Math.abs(change));
  return {
    own: new Map([
      ['worst', goodness],
      ['best', minus(goodness)],
      ['turn', undefined],
    ]),
    changed: new Map([
      ['change', minus(moved)],
      ['drop', gain],
      ['gain', minus(gain)],
    ]),
  };
}

/** What each part of a query may be; undefined for any text. */
export function choicesOf(list: SampleList, against?: SampleList): Record<QueryPart, readonly string[] | undefined> {
  const { samples, figures, domains, lead } = list;
  const dimensions = figures.flatMap(([name, end]) => (end === PERFECT ? name.toLowerCase() : []));
  const seen = (namesIn: (sample: ListedSample) => readonly string[]) => [...new Set(samples.flatMap(namesIn))].sort();
  const hasBands = lead.from === 0 && lead.to === 100 && lead.better === 'larger';
  const { own, changed } = ordersOf(list);
  return {
    domain: domains.map(({ domain }) => domain),
    rating: [...(hasBands ? BANDS.keys() : []), 'failed', 'wrong', ...(isRollout(list) ? ['lapse'] : [])],
    dimension: dimensions,
    weakest: dimensions,
    fact: samples.some(({ o }) => o !== undefined) ? [...FACTS.keys()] : [],
    failure: seen(({ x }) => (x === undefined ? [] : [x])),
    flag: seen(({ l = [] }) => l),
    word: undefined,
    text: undefined,
    change: against === undefined ? [] : [...CHANGES.keys()],
    sort: [...(against === undefined ? [] : changed.keys()), ...own.keys()],
  };
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
export function select(list: SampleList, query: Query, against?: SampleList): SelectedSample[] {
  const partners = against && partnersOf(list, against);
  const tests = QUERY_PARTS.flatMap((part) => (query[part] ? (testOf(part, query[part], list) ?? []) : []));
  const found = list.samples
    .map((sample, at): Known => ({ at, sample, ...partners?.(sample) }))
    .filter((known) => tests.every((test) => test(known)));
  const { own, changed } = ordersOf(list);
  const order = new Map([...own, ...changed]).get(query.sort || (against === undefined ? 'worst' : 'change'));
  const place = (known: Known) => order?.(known) ?? Number.POSITIVE_INFINITY;
  if (order !== undefined) found.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
  return found.map(({ at, other, change }) => ({ at, other, change }));
}

/** Whether a part of a query selects a sample; undefined for the order, which selects none. A choice that is not known selects nothing. */
function testOf(part: QueryPart, value: string, list: SampleList): Test | undefined {
  switch (part) {
    case 'domain':
      return ({ sample }) => list.domains[sample.d]?.domain === value;
    case 'rating':
      return ratingTest(value, list);
    case 'dimension': {
      const at = figureAt(list, value);
      return ({ sample }) => (valueAt(sample, at) ?? PERFECT) <= WEAK;
    }
    case 'weakest': {
      const at = figureAt(list, value);
      return ({ sample }) => weakestIn(sample).includes(at);
    }
    case 'fact':
      return ({ sample: { u = [], o } }) => o !== undefined && FACTS.get(value)?.(u.length, o) === true;
    case 'failure':
      return ({ sample }) => sample.x === value;
    case 'flag':
      return ({ sample }) => sample.l?.includes(value) === true;
    case 'word':
      return ({ sample: { u = [] } }) => u.some((claim) => wordsIn(claim).has(value.toLowerCase()));
    case 'text': {
      const wanted = value.trim().toLowerCase();
      return ({ sample }) => textsIn(list, sample).some((text) => text.toLowerCase().includes(wanted));
    }
    case 'change':
      return (known) => CHANGES.get(value)?.(known) === true;
    case 'sort':
      return undefined;
  }
}

function ratingTest(value: string, list: SampleList): Test {
  if (value === 'failed') return ({ sample }) => sample.x !== undefined;
  if (value === 'wrong') {
    const isWrong = wrongIn(list);
    return ({ sample }) => isWrong(sample);
  }
  if (value === 'lapse') {
    const lapses = firstLapses(list);
    return ({ at }) => lapses.has(at);
  }
  const [from, to] = BANDS.get(value) ?? [0, 0];
  return ({ sample: { v, x } }) => v !== undefined && x === undefined && v >= from && v < to;
}

function textsIn(list: SampleList, sample: ListedSample): string[] {
  const { k, n = '', x = '', y = '', l = [], u = [] } = sample;
  return [k, sampleName(list, sample), n, x, y, ...l, ...u];
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

/** A dimension of the rubric, as the list calls it. */
const FACTUALITY = 'factuality';

/** Tells which samples failed, or are rated below a perfect factuality. */
function wrongIn(list: SampleList): (sample: ListedSample) => boolean {
  const at = figureAt(list, FACTUALITY);
  return (sample) => sample.x !== undefined || (valueAt(sample, at) ?? PERFECT) < PERFECT;
}

// Against another run.

/** The partner of a sample in another run's list, and what changed. */
function partnersOf(list: SampleList, against: SampleList): (sample: ListedSample) => Omit<Known, 'at' | 'sample'> {
  const [own, others] = [valuesOf(list, list), valuesOf(against, list)];
  const places = new Map<string, number>();
  for (const [at, sample] of against.samples.entries()) {
    for (const id of idsOf(sample)) if (!places.has(id)) places.set(id, at);
  }
  const { better } = list.lead;
  return (sample) => {
    const other = idsOf(sample)
      .map((id) => places.get(id))
      .find((place) => place !== undefined);
    const partner = other === undefined ? undefined : against.samples[other];
    const [now, before] = [own.get(predictionOf(sample)), partner && others.get(predictionOf(partner))];
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
  const sums = new Map<string, { sum: number; count: number }>();
  for (const sample of isAlike ? samples : []) {
    const value = isRated ? sample.v : valueAt(sample, measure);
    if (value === undefined) continue;
    const { sum, count } = sums.get(predictionOf(sample)) ?? { sum: 0, count: 0 };
    sums.set(predictionOf(sample), { sum: sum + value, count: count + 1 });
  }
  return new Map(Array.from(sums, ([id, { sum, count }]) => [id, sum / count]));
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
  const { domain, weakest = [], failure = [], flag = [] } = choicesOf(list);
  const nameOf = (place: number) => list.domains[place]?.name ?? '';
  const of = (kind: Group['kind'], items: readonly (readonly [title: string, query: Query])[]) =>
    items
      .map(([title, part]): Group => {
        const query = { rating: 'wrong', ...part };
        return { kind, title, query, count: select(list, query).length };
      })
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count);
  return [
    ...of(
      'rollout',
      isRollout(list) ? [['First turn of a rollout with a factuality below 4', { rating: 'lapse' }]] : [],
    ),
    ...of(
      'domain',
      (domain ?? []).map((name, place) => [nameOf(place), { domain: name }]),
    ),
    ...of(
      'dimension',
      (weakest ?? []).map((name) => [`Weakest in ${name}`, { weakest: name }]),
    ),
    ...of(
      'fact',
      Object.entries(FACT_TITLES).map(([fact, title]) => [title, { fact }]),
    ),
    ...of(
      'failure',
      (failure ?? []).map((name) => [`Failed: ${name}`, { failure: name }]),
    ),
    ...of(
      'flag',
      (flag ?? []).map((name) => [`Flag: ${name}`, { flag: name }]),
    ),
    ...of(
      'word',
      sharedWords(list).map(([place, word]) => [`${nameOf(place)}: ${word}`, { domain: domain?.[place], word }]),
    ),
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
  const isWrong = wrongIn(list);
  return list.domains.flatMap((_, place) => {
    const claims = list.samples.flatMap((sample) => (sample.d === place && isWrong(sample) ? (sample.u ?? []) : []));
    const counts = new Map<string, number>();
    for (const word of claims.flatMap((claim) => [...wordsIn(claim)])) counts.set(word, (counts.get(word) ?? 0) + 1);
    return [...counts]
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

function isRollout({ samples }: SampleList): boolean {
  return samples.some(({ s }) => s !== undefined);
}

/** A rating of factuality below which a turn of a rollout has lapsed. */
const LAPSE = 4;

/** Places of the samples that are each the first judged turn of its chain with a factuality below 4. */
function firstLapses(list: SampleList): ReadonlySet<number> {
  const at = figureAt(list, FACTUALITY);
  const first = new Map<string, number>();
  // In reading order turns follow each other.
  for (const [place, sample] of list.samples.entries()) {
    const { g, t, r = 0, s } = sample;
    const chain = `${g} ${r} ${t - (s ?? 0)}`;
    const hasLapsed = s !== undefined && (valueAt(sample, at) ?? PERFECT) < LAPSE;
    if (hasLapsed && !first.has(chain)) first.set(chain, place);
  }
  return new Set(first.values());
}
