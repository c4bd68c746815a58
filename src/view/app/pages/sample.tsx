// One sample: what the world model saw, its prediction next to the truth, the judge's verdict, and further texts.

import type { Index, ListedSample, SampleList, SampleTexts, TrajectoryTexts } from '../../documents.js';
import { DASH } from '../../figures.js';
import { type Selected, sampleName } from '../../query.js';
import { Behind, History, TextFold } from '../behind.js';
import { Difference } from '../difference.js';
import { idOf, Marks, Pip, Score } from '../listed.js';
import { Block, Loaded, Remarks, type Row, Table } from '../parts.js';
import { href, type Route, set } from '../route.js';
import { Screens } from '../screens.js';
import { useDocument } from '../source.js';
import { Text, visible } from '../text.js';

/** A run's side of a sample: its name if there are two, and its texts. */
interface Side {
  readonly name: string;
  readonly row: SampleTexts;
  readonly text: (place: number | undefined) => string | undefined;
}

interface Props {
  readonly index: Index;
  readonly route: Route;
  readonly list: SampleList;
  readonly against: SampleList | undefined;
  readonly selected: Selected;
}

/** A sample with its name. A slider selects the turns of its trajectory. */
export function Sample(props: Props) {
  const { index, route, list, selected } = props;
  const { sample } = selected;
  return (
    <>
      <div class="row">
        <h2>{visible(sampleName(list, sample))}</h2>
        <Score list={list} of={selected} />
      </div>
      <Marks list={list} sample={sample} />
      {sample.y !== undefined && <p class="bad">{visible(sample.y)}</p>}
      <p class="note">
        key {sample.k} · <a href={href(route.path, { sample: idOf(sample) })}>Link to this sample</a>
      </p>
      <Turns {...props} />
      <div class="texts">
        {index.scoresOnly ? (
          <p class="soft">This folder contains only scores, no texts.</p>
        ) : (
          <LoadedTexts {...props} />
        )}
      </div>
    </>
  );
}

/** The samples of a trajectory, one per turn: of the same repeat and judgement if there is one. */
export function turnsOf(list: SampleList, { g, r, j }: ListedSample): ListedSample[] {
  const turns = new Map<number, ListedSample>();
  for (const sample of list.samples) {
    if (sample.g !== g) continue;
    if (!turns.has(sample.t) || (sample.r === r && sample.j === j)) turns.set(sample.t, sample);
  }
  return [...turns.values()].sort((a, b) => a.t - b.t);
}

function Turns({ route, list, selected: { sample } }: Props) {
  const turns = turnsOf(list, sample);
  const at = turns.findIndex(({ t }) => t === sample.t);
  const go = (place: number) => {
    const turn = turns[place];
    if (turn !== undefined) set(route, { sample: idOf(turn) });
  };
  return (
    <label class="row">
      <span>
        Turn <b>{sample.t}</b> <span class="soft">{`of ${turns.at(-1)?.t}`}</span>
      </span>
      <input
        type="range"
        min={0}
        max={turns.length - 1}
        value={at}
        disabled={turns.length < 2}
        aria-valuetext={`turn ${sample.t}`}
        onInput={({ currentTarget }) => go(currentTarget.valueAsNumber)}
      />
    </label>
  );
}

function LoadedTexts(props: Props) {
  const { list, against, selected } = props;
  const { sample, other } = selected;
  const own = useDocument(`texts/${list.ref}/${sample.g}`);
  // Without another run, this is the same document, which is read once.
  const theirs = useDocument(`texts/${other && against ? against.ref : list.ref}/${(other ?? sample).g}`);
  return (
    <Loaded of={own}>
      {(texts) => {
        const first = sideOf(against ? list.name : '', texts, sample);
        const second = other && against && theirs.value && sideOf(against.name, theirs.value, other);
        // The other run's history is not shown.
        const missing = new Set([texts.missing, second ? undefined : theirs.value?.missing, theirs.error]);
        return (
          <>
            {[...missing].map((text) => text !== undefined && <p class="warn">{visible(text)}</p>)}
            {first === undefined && <p class="soft">The texts of this sample are missing.</p>}
            {first !== undefined && <Texts {...props} key={idOf(sample)} sides={second ? [first, second] : [first]} />}
          </>
        );
      }}
    </Loaded>
  );
}

function sideOf(name: string, { strings, rows }: TrajectoryTexts, sample: ListedSample): Side | undefined {
  const row = rows[idOf(sample)];
  return row && { name, row, text: (place) => (place === undefined ? undefined : strings[place]) };
}

type Sides = readonly [Side] | readonly [own: Side, other: Side];

function Texts(props: Props & { readonly sides: Sides }) {
  const { sides } = props;
  const [{ row, text }] = sides;
  const history = row.history?.map((place) => text(place) ?? '');
  const last = history?.at(-1);
  return (
    <>
      <section class="block context">
        <h3>Last observation</h3>
        {history === undefined && <p class="soft">Histories are left out here.</p>}
        {history?.length === 0 && <p class="soft">None before the first turn.</p>}
        {last !== undefined && <Text text={last} />}
        <h3>Action</h3>
        <Text text={text(row.action) ?? ''} />
      </section>
      <Comparison {...props} truth={text(row.truth) ?? ''} />
      <div class="pair">
        {sides.map((side) => (
          <Verdict {...side} />
        ))}
      </div>
      <Ratings {...props} />
      <div class="block">
        {history !== undefined && history.length > 0 && <History texts={history} />}
        <TextFold title="System prompt" text={text(row.system)} />
        {sides.map((side) => (
          <Behind row={side.row} of={side.name && ` of ${side.name}`} text={side.text} />
        ))}
      </div>
    </>
  );
}

/** Which prediction is next to the truth: this run's, the other's, or both. */
const SHOWN = ['', 'other', 'both'];

/** Shows the next of them. */
export function toggleShown(route: Route): void {
  const at = SHOWN.indexOf(route.query.get('shown') ?? '');
  set(route, { shown: SHOWN[(at + 1) % SHOWN.length] });
}

/** Shows texts or drawn screens. */
export function toggleScreen(route: Route): void {
  set(route, { screen: route.query.get('screen') ? undefined : '1' });
}

function Comparison(props: Props & { readonly truth: string; readonly sides: Sides }) {
  const { route, list, selected, truth, sides } = props;
  const [own, other] = sides;
  const shown = route.query.get('shown') ?? '';
  const chosen = other === undefined || shown === '' ? [own] : shown === 'both' ? [other, own] : [other];
  const isDrawn = route.query.get('screen') !== null;
  const domain = list.domains[selected.sample.d]?.domain ?? '';
  const predictions = chosen.map(({ name, row, text }) => ({ name, text: text(row.prediction) }));
  return (
    <section class="block">
      <div class="row">
        <h3>Truth and prediction</h3>
        <button type="button" class="quiet" aria-pressed={isDrawn} onClick={() => toggleScreen(route)}>
          {isDrawn ? 'Show the texts' : 'Draw the screens'} <kbd>s</kbd>
        </button>
        {other !== undefined && (
          <fieldset class="row">
            <legend class="unseen">Prediction of</legend>
            {[own.name, other.name, 'both'].map((name, at) => (
              <label class="tick">
                <input
                  type="radio"
                  name="shown"
                  checked={SHOWN[at] === shown}
                  onChange={() => set(route, { shown: SHOWN[at] })}
                />
                {visible(name)}
              </label>
            ))}
            <kbd>t</kbd>
          </fieldset>
        )}
      </div>
      {isDrawn ? (
        predictions.map(({ text = '' }) => <Screens domain={domain} truth={truth} prediction={text} />)
      ) : (
        <Difference key={shown} truth={truth} predictions={predictions} />
      )}
    </section>
  );
}

/** The facts that the judge found in the truth, and its remarks on the prediction. */
function Verdict({ name, row: { facts, strengths, weaknesses } }: Side) {
  const unmetFirst = [...(facts ?? [])].sort((a, b) => Number(a.met) - Number(b.met));
  return (
    <Block title={`What the judge says${name && ' of '}${name}`}>
      {facts !== undefined && <h3>Facts of the truth</h3>}
      {facts?.length === 0 && <p class="soft">None.</p>}
      <ul class="claims">
        {unmetFirst.map(({ claim, kind, met, quote }) => (
          <li>
            <b class={met ? 'good' : 'bad'}>{met ? '✓ met' : '✗ not met'}</b> <span class="chip">{kind}</span>
            {visible(claim)} {quote !== undefined && <q class="soft">{visible(quote)}</q>}
          </li>
        ))}
      </ul>
      <Remarks title="Weaknesses" remarks={weaknesses} />
      <Remarks title="Strengths" remarks={strengths} />
    </Block>
  );
}

/** The ratings of all judgements of this prediction, and of the other run's. */
function Ratings({ route, list, against, selected }: Props) {
  const { sample, other } = selected;
  const rowsOf = (of: SampleList, { k, r }: ListedSample): Row[] =>
    of.samples
      .filter((one) => one.k === k && one.r === r)
      .map((one) => ({
        cells: [
          of === list && one.j !== sample.j ? (
            <a href={href(route.path, { ...Object.fromEntries(route.query), sample: idOf(one) })}>
              {`Judgement ${(one.j ?? 0) + 1}`}
            </a>
          ) : (
            `Judgement ${(one.j ?? 0) + 1}`
          ),
          <b>{one.v?.toFixed(of.lead.decimals) ?? DASH}</b>,
          ...list.figures.map((_, at) => <Pip list={of} sample={one} at={at} />),
        ],
      }));
  const others = other && against ? [{ cells: [visible(against.name)] }, ...rowsOf(against, other)] : [];
  const columns = ['', 'Score', ...list.figures.map(([name]) => name)];
  return (
    <Block title="Ratings of each judgement">
      <Table
        label="Ratings"
        columns={columns.map((heading, at) => ({ heading, kind: at === 0 ? 'text' : 'figure' }))}
        rows={[...(others.length > 0 ? [{ cells: [visible(list.name)] }] : []), ...rowsOf(list, sample), ...others]}
      />
    </Block>
  );
}
