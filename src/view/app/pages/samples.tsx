// The samples of a run, also compared with another's: a list with filters, next to one of its samples.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { ListedSample, SampleList } from '../../documents.js';
import { count, plural } from '../../figures.js';
import { choicesOf, holdsText, QUERY_PARTS, type QueryPart, type Selected, sampleName, select } from '../../query.js';
import { idOf, Marks, Score } from '../listed.js';
import { Fold, Loaded, Select } from '../parts.js';
import { href, type PageProps, type Route, set } from '../route.js';
import { RowWindow } from '../row-window.js';
import { useTextSearch } from '../search.js';
import { useDocument } from '../source.js';
import { visible } from '../text.js';
import { Sample, toggleScreen, toggleShown, turnsOf } from './sample.js';

type Props = PageProps & { readonly list: SampleList; readonly against: SampleList | undefined };

/** @param runRef the run whose samples are shown @param against the base that they are compared with */
export function SamplesPage({ runRef, against, ...page }: PageProps & { runRef: string; against?: string }) {
  const own = useDocument(`samples/${runRef}`);
  // Without another run, this is the same document, which is read once.
  const other = useDocument(`samples/${against ?? runRef}`);
  return (
    <Loaded of={own}>
      {(list) => (
        <Loaded of={other}>
          {(base) => <Samples {...page} list={list} against={against === undefined ? undefined : base} />}
        </Loaded>
      )}
    </Loaded>
  );
}

function Samples({ index, route, list, against }: Props) {
  const found = useFound(route, list, against);
  const all = useMemo(() => new Map(select(list, {}, against).map((one) => [idOf(one.sample), one])), [list, against]);
  // On a phone, going back to the list keeps its position.
  const last = useRef('');
  const asked = route.query.get('sample');
  last.current = asked ?? last.current;
  const at = found.samples.findIndex(({ sample }) => idOf(sample) === last.current);
  const place = asked === null ? Math.max(0, at) : at;
  const shown = asked === null ? found.samples[place] : all.get(asked);
  const [listing, article] = [useRef<HTMLElement>(null), useRef<HTMLElement>(null)];
  const [search, help] = [useRef<HTMLInputElement>(null), useRef<HTMLDialogElement>(null)];

  const go = (to: ListedSample | undefined) => to && set(route, { sample: idOf(to) });
  const move = (by: number) => go(found.samples[isHidden(article) ? place : place + by]?.sample);
  const turn = (by: number) => {
    const turns = shown === undefined ? [] : turnsOf(list, shown.sample);
    go(turns[turns.findIndex(({ t }) => t === shown?.sample.t) + by]);
  };
  const back = () => {
    if (isHidden(listing)) set(route, { sample: undefined }, 'push');
    else listing.current?.querySelector<HTMLElement>('a[aria-current]')?.focus();
  };
  const keys: Keys = [
    ['j', 'next sample', () => move(1)],
    ['k', 'previous sample', () => move(-1)],
    ['n', 'next turn of its trajectory', () => turn(1)],
    ['p', 'previous turn', () => turn(-1)],
    ['/', 'search', () => search.current?.focus()],
    ['t', 'with two runs: switch the prediction next to the truth', () => against && toggleShown(route)],
    ['s', 'switch between texts and screens', () => toggleScreen(route)],
    ['Escape', 'back to the list', back],
    ['?', 'these keys', () => help.current?.showModal()],
  ];
  useKeys(keys);
  useEffect(() => {
    if (asked === null || article.current === null) return;
    const { top } = article.current.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) article.current.scrollIntoView();
    // If the list is hidden, the link that opened the sample is gone.
    if (isHidden(listing)) article.current.focus({ preventScroll: true });
  }, [asked]);

  return (
    <div class={asked === null ? 'samples' : 'samples opened'}>
      <section class="listing" ref={listing} aria-label="List of samples">
        <Filters {...{ index, route, list, against, found }} field={search} />
        {found.samples.length === 0 && (
          <div class="empty">
            <p>{list.samples.length === 0 ? 'This run has no samples.' : 'No samples match.'}</p>
            {list.samples.length > 0 && <Clear route={route} />}
          </div>
        )}
        <RowWindow
          label="Samples"
          rows={found.samples}
          current={place}
          isShown={asked === null}
          draw={(one) => (
            <a href={addressOf(route, one)} aria-current={one.sample === shown?.sample ? 'true' : undefined}>
              <b>{visible(sampleName(list, one.sample))}</b>
              <Score list={list} of={one} />
              <Marks list={list} sample={one.sample} />
              <span class="note">{visible(one.sample.n ?? one.sample.y ?? '')}</span>
            </a>
          )}
        />
      </section>
      <article class="sample" ref={article} tabIndex={-1} aria-label="Sample">
        <div class="row">
          <a class="back" href={href(route.path, { ...settings(route), sample: undefined })}>
            All samples
          </a>
          {[-1, 1].map((by) => {
            const to = place === -1 ? undefined : found.samples[place + by];
            const name = by < 0 ? 'Previous' : 'Next';
            return to === undefined ? <span>{name}</span> : <a href={addressOf(route, to)}>{name}</a>;
          })}
          <span class="soft">{place >= 0 && `${count(place + 1)} of ${count(found.samples.length)}`}</span>
          <button type="button" class="quiet" onClick={() => help.current?.showModal()}>
            Keys
          </button>
        </div>
        {shown !== undefined && <Sample {...{ index, route, list, against, selected: shown }} />}
        {shown === undefined && asked !== null && <p class="empty">This run has no sample {visible(asked)}.</p>}
      </article>
      <Help field={help} keys={keys} />
    </div>
  );
}

function isHidden({ current }: RefObject<HTMLElement | null>): boolean {
  return current?.offsetParent === null;
}

function settings(route: Route): Record<string, string> {
  return Object.fromEntries(route.query);
}

function addressOf(route: Route, { sample }: Selected): string {
  return href(route.path, { ...settings(route), sample: idOf(sample) });
}

/** The filtered samples in order, and the progress of the text search. */
function useFound(route: Route, list: SampleList, against: SampleList | undefined) {
  const { sample: _, shown: __, texts, text = '', ...query } = settings(route);
  const all = useMemo(() => select(list, query, against), [list, against, JSON.stringify(query)]);
  const trajectories = useMemo(() => [...new Set(all.map(({ sample }) => sample.g))], [all]);
  const search = useTextSearch(list, texts === undefined ? '' : text, trajectories);
  const samples = useMemo(() => {
    const isFound = (sample: ListedSample) => holdsText(list, sample, text) || search.found.has(idOf(sample));
    return text === '' ? all : all.filter(({ sample }) => isFound(sample));
  }, [all, text, search.found]);
  return { samples, search, trajectories: trajectories.length };
}

/** Labels of the fields that filter and order the list. */
const PARTS: Readonly<Record<QueryPart, string>> = {
  domain: 'Domain',
  rating: 'Rating',
  dimension: 'Weak in',
  weakest: 'Weakest in',
  fact: 'Determined facts',
  failure: 'Failure',
  flag: 'Flag',
  word: 'Word of an unmet fact',
  text: 'Text',
  change: 'Change',
  sort: 'Order',
};
/** Labels of choices that differ from their values in an address. */
const CHOICES: Readonly<Record<string, string>> = {
  wrong: 'not factual, or failed',
  lapse: 'first lapse of a rollout',
  moved: 'by 25 or more',
  alone: 'only in this run',
  worst: 'worst first',
  best: 'best first',
  turn: 'turn by turn',
  change: 'largest change first',
  drop: 'largest loss first',
  gain: 'largest gain first',
};

/** Filter fields, the search, and its result. */
function Filters(props: Props & { found: ReturnType<typeof useFound>; field: RefObject<HTMLInputElement | null> }) {
  const { index, route, list, against, found, field } = props;
  const query = settings(route);
  const choices = useMemo(() => choicesOf(list, against), [list, against]);
  const nameOf = (part: QueryPart, value: string) =>
    (part === 'domain' ? list.domains.find(({ domain }) => domain === value)?.name : CHOICES[value]) ?? value;
  const active = QUERY_PARTS.filter((part) => part !== 'sort' && query[part] !== undefined);
  const isSearched = query.texts !== undefined;
  const search = (event: Event) => {
    event.preventDefault();
    set(route, { texts: query.text && '1' });
  };
  return (
    <form class="row filters" onSubmit={search}>
      <label class="note field">
        Search
        <input
          type="search"
          ref={field}
          value={query.text ?? ''}
          onInput={({ currentTarget }) => set(route, { text: currentTarget.value, texts: '', sample: '' })}
        />
      </label>
      <button type="submit" disabled={!query.text || isSearched || index.scoresOnly}>
        Search texts
      </button>
      <Fold title="Filters and order">
        <div class="row">
          {QUERY_PARTS.map((part) => {
            // The first order is the default.
            const [none = '', ...values] = part === 'sort' ? (choices.sort ?? []) : ['all', ...(choices[part] ?? [])];
            const options = values.map((value) => [value, nameOf(part, value)] as const);
            const choose = (value: string) => set(route, { [part]: value, sample: '' }, 'push');
            return (
              options.length > 0 && (
                <Select
                  label={PARTS[part]}
                  value={query[part] ?? ''}
                  options={[['', nameOf(part, none)], ...options]}
                  choose={choose}
                />
              )
            );
          })}
        </div>
      </Fold>
      {active.length > 0 && (
        <div>
          {active.map((part) => (
            <button type="button" class="chip" onClick={() => set(route, { [part]: '', texts: '' }, 'push')}>
              {PARTS[part]} <b>{visible(nameOf(part, query[part] ?? ''))}</b> ×<span class="unseen"> remove</span>
            </button>
          ))}
          <Clear route={route} />
        </div>
      )}
      <p class="note" role="status">
        {found.samples.length < list.samples.length && `${count(found.samples.length)} of `}
        {plural(list.samples.length, 'sample')}
        {isSearched &&
          ` · searched ${count(found.search.searched)} of ${plural(found.trajectories, 'trajectory', 'trajectories')}`}
        {found.search.unread > 0 && `, ${count(found.search.unread)} without texts`}
      </p>
    </form>
  );
}

function Clear({ route }: { readonly route: Route }) {
  return <a href={href(route.path)}>Clear filters</a>;
}

type Keys = readonly (readonly [key: string, does: string, act: () => void])[];

function Help({ field, keys }: { readonly field: RefObject<HTMLDialogElement | null>; readonly keys: Keys }) {
  return (
    <dialog ref={field} aria-label="Keys">
      <dl class="facts">
        {keys.map(([key, does]) => [
          <dt>
            <kbd>{key}</kbd>
          </dt>,
          <dd>{does}</dd>,
        ])}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

/** Handles keys, except in inputs, drop-downs and dialogs. */
function useKeys(keys: Keys): void {
  // A layout effect runs before the next key, which then acts on the new state.
  useLayoutEffect(() => {
    const follow = (event: KeyboardEvent) => {
      const [, , act] = keys.find(([key]) => key === event.key) ?? [];
      const isTaken = event.target instanceof Element && event.target.closest('input, select, textarea, dialog');
      if (act === undefined || isTaken || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', follow);
    return () => removeEventListener('keydown', follow);
  });
}
