// The page on which people rate predictions by keyboard: it asks for a name, shows a sample, takes ratings, and shows the judge's ratings
// when the rater is done.

import { type ComponentChild, render } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { DIMENSIONS, type Dimension } from '../../core/types.js';
import type { JudgeSays, RatingSample } from '../documents.js';
import { count, DASH, plural } from '../figures.js';
import { History, TextFold } from './behind.js';
import { Difference } from './difference.js';
import { Block, Header, Remarks } from './parts.js';
import * as ratings from './ratings.js';
import { data, entryAt, isDone, place } from './ratings.js';
import { Text, visible } from './text.js';
import './style.css';
import './samples.css';
import './rate.css';

/** The five dimensions as questions to a person, in the words of the rubric. */
const QUESTIONS: Readonly<Record<Dimension, readonly [heading: string, question: string]>> = {
  format: ['Format', 'Is it written as this environment writes, with nothing around it?'],
  factuality: ['Factuality', 'Is the outcome right: effect, success or failure, values, every determined detail?'],
  consistency: ['Consistency', 'Does it agree with the history and with itself?'],
  realism: ['Realism', 'Would the real thing produce it: wording, amounts, side effects?'],
  quality: ['Quality', 'Overall, could an agent act on it as on the real answer?'],
};
const LEVELS = [
  'wrong throughout, missing, or no observation',
  'some of it is right, but not the main point',
  'the main point is right, with faults that an agent would stumble over',
  'small faults that change nothing for the agent',
  'no fault except in what could not be known',
];

/** A rater's action; returns a message about it, if any. */
type Action = (key: string) => string | undefined;

/** Keys, their descriptions, and their actions. */
const KEYS: readonly (readonly [keys: readonly string[], does: string, action: Action])[] = [
  [['1', '2', '3', '4', '5'], 'rate, and go to the next dimension', (key) => give(Number(key))],
  [['↑', '↓'], 'dimension', (key) => moveDimension(key === '↑' ? -1 : 1)],
  [['←', '→'], 'sample', (key) => move(key === '←' ? -1 : 1)],
  [['u'], 'undo', () => (ratings.undo() ? undefined : 'There is nothing to undo.')],
  [['c'], 'comment', () => void document.getElementById('comment')?.focus()],
  [['Enter'], 'finish this sample; then go to the next one', done],
  [['s'], 'save the file', ratings.saveFile],
  [['Esc'], 'back to this page', showIntro],
];
const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...{ ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', k: '←', j: '→', Escape: 'Esc' },
};

let isIntro = false;
/** The panel's message until the next action; empty to ask for a rating. */
let said = '';

/** Acts, and draws the result before the next key. */
function act(action: Action, key = ''): void {
  said = action(key) ?? '';
  draw();
}

function draw(): void {
  const root = document.getElementById('app');
  if (root !== null) render(<Page />, root);
}

function showIntro(): undefined {
  isIntro = true;
}

function give(rating: number, dimension = place.dimension): undefined {
  place.dimension = dimension;
  ratings.rate(rating);
}

function moveDimension(by: number): undefined {
  place.dimension = Math.min(Math.max(0, place.dimension + by), DIMENSIONS.length - 1);
}

function move(by: number): string | undefined {
  const index = place.index + by;
  if (data.samples[index] === undefined) return by > 0 ? 'This is the last sample.' : 'This is the first sample.';
  ratings.goTo(index);
  return undefined;
}

/** Finishes the sample, or goes to the next open one. */
function done(): string | undefined {
  const entry = entryAt();
  if (!ratings.isWhole(entry)) return 'Rate all five dimensions first.';
  if (!isDone(entry)) {
    ratings.finish();
    draw();
    document.getElementById('verdict')?.scrollIntoView({ block: 'center' });
    return undefined;
  }
  const next = ratings.openFrom(place.index + 1);
  if (next === undefined) return 'All samples are rated. Save the file and pass it to awb agree.';
  ratings.goTo(next);
  return undefined;
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || isIntro) return;
  const target = event.target instanceof HTMLElement ? event.target : undefined;
  if (target?.closest('input:not([type=checkbox]), textarea') != null) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  // Enter activates the focused element.
  if (event.key === 'Enter' && target?.closest('button, summary, a') != null) return;
  const name = OTHER_NAMES[event.key] ?? event.key;
  const [, , action] = KEYS.find(([keys]) => keys.includes(name)) ?? [];
  if (action === undefined) return;
  event.preventDefault();
  act(action, name);
}

function Page() {
  const sample = isIntro ? undefined : data.samples[place.index];
  return (
    <>
      <nav aria-label="Progress">
        <div class="wrap">
          <b>{visible(data.title)}</b>
          <span id="progress" class="soft" role="status">
            {sample && <Button id="who" class="quiet" title="Change the rater" text={place.rater} action={showIntro} />}
            {sample && ` · ${count(ratings.doneCount())} of ${count(data.samples.length)} rated`}
          </span>
          {sample && <Button id="save" text="Save ratings" action={ratings.saveFile} />}
        </div>
      </nav>
      <main class="wrap" id="main" tabIndex={-1}>
        {sample === undefined ? <Intro /> : <Sample key={place.index} sample={sample} />}
      </main>
      {sample && <Panel />}
      <footer class="wrap">{data.tool}</footer>
    </>
  );
}

function Button(props: { id: string; class?: string; title?: string; text: string; action: Action }) {
  const { text, action, ...attributes } = props;
  return (
    <button type="button" {...attributes} onClick={() => act(action)}>
      {visible(text)}
    </button>
  );
}

function Intro() {
  const name = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => name.current?.focus(), []);
  const begin = (event: Event) => {
    event.preventDefault();
    const rater = name.current?.value.trim() ?? '';
    if (rater === '') return;
    isIntro = false;
    ratings.chooseRater(rater);
    draw();
  };
  const rated = place.rater === '' ? 0 : ratings.doneCount();
  const kept = `${place.rater} has rated ${count(rated)} of ${count(data.samples.length)}; this browser has stored the ratings.`;
  return (
    <>
      <Header title={data.title} lines={[plural(data.samples.length, 'sample')]} />
      <p>
        You rate what a world model predicted, compared with what the real environment answered. The judge's ratings are
        shown only after you finish a sample.
        {data.run === null && ' The run of a prediction is hidden.'}
      </p>
      <form id="begin" onSubmit={begin}>
        <label class="soft" for="rater">
          Your name, as saved in the file
        </label>
        <div class="row">
          <input
            {...{ type: 'text', id: 'rater', ref: name, defaultValue: place.rater, maxLength: 80 }}
            {...{ autocomplete: 'off', spellcheck: false, required: true }}
          />
          <button type="submit">Begin</button>
        </div>
      </form>
      <p class="note" id="kept">
        {rated > 0 && visible(kept)}
      </p>
      <div class="pair">
        <Terms title="Ratings" terms={LEVELS.map((level, at) => [at + 1, level])} />
        <Terms title="Dimensions" terms={Object.values(QUESTIONS)} />
        <Terms title="Keys" terms={KEYS.map(([keys, does]) => [keys.map((key) => <kbd>{key}</kbd>), does])} />
      </div>
    </>
  );
}

function Terms({ title, terms }: { title: string; terms: readonly (readonly [ComponentChild, string])[] }) {
  return (
    <Block title={title}>
      <dl class="facts">{terms.map(([term, text]) => [<dt>{term}</dt>, <dd>{text}</dd>])}</dl>
    </Block>
  );
}

/** The current sample. */
function Sample({ sample }: { sample: RatingSample }) {
  const title = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    scrollTo(0, 0);
    title.current?.focus({ preventScroll: true });
  }, []);
  // They do not depend on the ratings.
  const texts = useMemo(() => <SampleTexts sample={sample} />, [sample]);
  const entry = entryAt();
  return (
    <div id="sample">
      <div class="block row path">
        <Button id="previous" class="quiet" text="Previous" action={() => move(-1)} />
        <Button id="next" class="quiet" text="Next" action={() => move(1)} />
        <span class="soft">{`sample ${count(place.index + 1)} of ${count(data.samples.length)}`}</span>
      </div>
      <h2 tabIndex={-1} ref={title}>
        {visible(sample.title)}
      </h2>
      <p class="note">{`key ${sample.key}`}</p>
      {texts}
      {entry.shown !== undefined && <Verdict sealed={sample.judge} own={entry.ratings} />}
    </div>
  );
}

function SampleTexts({ sample: { system, history, action, truth, prediction } }: { sample: RatingSample }) {
  const text = (at: number) => data.strings[at] ?? '';
  return (
    <>
      <div class="block folds">
        <TextFold title="System prompt" text={system === undefined ? undefined : text(system)} />
        {history && <History texts={history.map(text)} />}
      </div>
      <h3>Action</h3>
      <Text text={text(action)} />
      <h3>Prediction next to ground truth</h3>
      <Difference
        truth={text(truth)}
        predictions={[{ name: '', text: prediction === undefined ? undefined : text(prediction) }]}
      />
    </>
  );
}

/** The judge's ratings, decoded here, so that the document does not contain them before. */
function Verdict({ sealed, own }: { sealed: string; own: readonly (number | null)[] }) {
  const bytes = Uint8Array.from(atob(sealed), (character) => character.charCodeAt(0));
  const says: JudgeSays = JSON.parse(new TextDecoder().decode(bytes));
  const figure = (rating: number | null | undefined) =>
    rating == null ? DASH : String(Math.round(rating * 100) / 100);
  return (
    <section class="block" id="verdict">
      <h3>The judge's ratings</h3>
      <dl class="key note">
        {DIMENSIONS.map((name, at) => (
          <div>
            <dt>{QUESTIONS[name][0]}</dt>
            <dd>
              {figure(says.ratings[at])} <span class="soft">{`you ${figure(own[at])}`}</span>
            </dd>
          </div>
        ))}
      </dl>
      <div class="pair">
        <Remarks title="Strengths" remarks={says.strengths} />
        <Remarks title="Weaknesses" remarks={says.weaknesses} />
      </div>
    </section>
  );
}

/** The five dimensions of the current sample, and the rater's next step. */
function Panel() {
  const entry = entryAt();
  return (
    <section class="panel" aria-label="Your ratings">
      <div class="wrap">
        <div class="rate">
          {DIMENSIONS.map((name, dimension) => (
            <fieldset id={`rate-${name}`} class={dimension === place.dimension ? 'row current' : 'row'}>
              <legend>{QUESTIONS[name][0]}</legend>
              {[1, 2, 3, 4, 5].map((rating) => (
                <button
                  type="button"
                  aria-pressed={entry.ratings[dimension] === rating}
                  // A click does not take the focus.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => act(() => give(rating, dimension))}
                >
                  {rating}
                </button>
              ))}
            </fieldset>
          ))}
        </div>
        <div class="row">
          <span id="ask" class="soft" role="status">
            {said || nextStep()}
          </span>
          <textarea
            {...{ id: 'comment', rows: 1, placeholder: 'Comment', 'aria-label': 'Comment', value: entry.comment }}
            onInput={({ currentTarget }) => ratings.change({ comment: currentTarget.value })}
          />
          <Button id="done" text={isDone(entry) ? 'Next' : 'Done'} action={done} />
        </div>
      </div>
    </section>
  );
}

/** The next step, as a sentence. */
function nextStep(): string {
  const entry = entryAt();
  if (ratings.isRevised(entry)) return "Changed after seeing the judge's ratings: awb agree leaves this sample out.";
  if (isDone(entry)) return 'Done. Press Enter for the next sample.';
  if (ratings.isWhole(entry)) return "Press Enter to finish this sample and see the judge's ratings.";
  const [heading, question] = QUESTIONS[DIMENSIONS[place.dimension] ?? 'format'];
  const warning = place.isKept ? '' : ' This browser does not store your progress: save the file before you leave.';
  return `${heading}: ${question}${warning}`;
}

ratings.load();
isIntro = place.rater === '';
addEventListener('keydown', onKeyDown);
draw();
