// The world as screens: truth next to prediction as terminals, wireframes and trees, with missing and invented parts marked.

import type { ComponentChild } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import type { ElementScreen, ScreenElement } from '../../benchmark/screens/elements.js';
import { type Screen, screenOf, unshared } from '../../benchmark/screens/screen.js';
import type { TerminalScreen } from '../../benchmark/screens/terminal.js';
import type { TreeNode, TreeScreen } from '../../benchmark/screens/tree.js';
import { plural } from '../figures.js';
import { Text, visible } from './text.js';
import './screens.css';

type Mark = 'missing' | 'invented';
interface Drawing<Shown> {
  readonly screen: Shown;
  /** The mark of the line, element or node at this place. */
  readonly markAt: (at: number) => Mark | undefined;
}

/** The parts of each kind of screen, and why an observation is not drawn. */
const PARTS = { terminal: 'line', elements: 'element', json: 'value' };
const LACKS: ReadonlyMap<string, string> = new Map([
  ['android', 'no line is an element with bounds'],
  ['os', 'no line is an element with a place and a size'],
  ['swe', 'it is not JSON and moves no cursor'],
]);

/** Both observations as screens. If one cannot be drawn, its text is shown with a note. */
export function Screens(props: { readonly domain: string; readonly truth: string; readonly prediction: string }) {
  const { domain, truth, prediction } = props;
  const [a, b, differing] = useMemo(() => {
    const [a, b] = [screenOf(domain, truth), screenOf(domain, prediction)];
    return [a, b, a && b && unshared(a, b)];
  }, [domain, truth, prediction]);
  const side = (title: string, text: string, screen: Screen | undefined, mark: Mark) => (
    <div class="block">
      <h3>{title}</h3>
      {screen === undefined && (
        <p class="note">This cannot be drawn: {LACKS.get(domain) ?? 'it is not JSON'}. Its text:</p>
      )}
      {screen === undefined && <Text text={text} />}
      {screen && draw(title, screen, [a, b], (at) => (differing?.[mark].has(at) ? mark : undefined))}
      {screen?.cut && <p class="note">This is incomplete: the rest is in the text.</p>}
    </div>
  );
  return (
    <section class="screens" aria-label="Screens">
      {a && differing && <p class="note">{summary(a.kind, differing.missing.size, differing.invented.size)}</p>}
      <div class="pair">
        {side('Truth', truth, a, 'missing')}
        {side('Prediction', prediction, b, 'invented')}
      </div>
    </section>
  );
}

function summary(kind: Screen['kind'], missing: number, invented: number): string {
  const tolerance = kind === 'elements' ? ' Elements up to 2 % of the screen away count as the same.' : '';
  if (missing + invented === 0) return `No ${PARTS[kind]} is missing or invented.${tolerance}`;
  return `The prediction lacks ${plural(missing, PARTS[kind])} (−) and invents ${plural(invented, PARTS[kind])} (+).${tolerance}`;
}

function draw(title: string, screen: Screen, pair: readonly (Screen | undefined)[], markAt: Drawing<Screen>['markAt']) {
  if (screen.kind === 'terminal') return <Terminal {...{ screen, markAt }} />;
  if (screen.kind !== 'elements') return <div class="tree">{branches({ screen, markAt }, 0, screen.nodes.length)}</div>;
  // Both screens of a pair share one scale. A garbled bound in a prediction shrinks it by half at most.
  const sizes = pair.flatMap((one) => (one?.kind === 'elements' ? one : []));
  const most = (side: 'width' | 'height') =>
    Math.min(2 * (sizes[0]?.[side] ?? 1), Math.max(...sizes.map((one) => one[side])));
  const [width, height] = [most('width'), most('height')];
  return <Wireframe {...{ title, screen: { ...screen, width, height }, markAt }} />;
}

/** The sign of a mark, for readers who do not see its hue. */
function Sign({ mark }: { mark: Mark }) {
  return (
    <b role="img" aria-label={mark}>
      {mark === 'missing' ? '−' : '+'}
    </b>
  );
}

/** The words of a style as CSS; colours are custom properties, which the stylesheet mixes with the text's colour. */
const LOOKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bold: { fontWeight: 'bold' },
  dim: { opacity: '0.8' },
  underline: { textDecoration: 'underline' },
  inverse: {},
};
const HUES: Readonly<Record<string, string>> = {
  black: 'gray',
  yellow: 'goldenrod',
  cyan: 'darkcyan',
  white: 'var(--ink)',
};

function lookOf(style: string): Record<string, string> {
  const looks = style.split(' ').map((word) => {
    const [, ground, colour = ''] = /^(on-)?(\w+)$/.exec(word) ?? [];
    return LOOKS[word] ?? { [ground === undefined ? '--colour' : '--ground']: HUES[colour] ?? colour };
  });
  return Object.assign({}, ...looks);
}

function Terminal({ screen, markAt }: Drawing<TerminalScreen>) {
  const lines = screen.lines.map((line, at) => {
    const mark = markAt(at);
    const runs = line.map(({ text, style }) => (
      <span class={style.includes('inverse') ? 'inverse' : undefined} style={lookOf(style)}>
        {visible(text)}
      </span>
    ));
    return (
      <span class={`line ${mark ?? ''}`}>
        {mark ? <Sign mark={mark} /> : <b />}
        {runs}
      </span>
    );
  });
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and is scrolled by keyboard
  return <pre tabIndex={0}>{lines}</pre>;
}

/** Most differing elements listed below a wireframe. */
const MOST_LISTED = 30;

function Wireframe({ title, screen, markAt }: Drawing<ElementScreen> & { title: string }) {
  const { width, height, elements } = screen;
  const letter = Math.sqrt(width * height) / 40;
  const parts = elements.map((element, at) => ({ element, mark: markAt(at) }));
  // Smaller elements go on top of larger ones.
  const placed = parts.filter((part) => part.element.bounds).sort((a, b) => areaOf(b.element) - areaOf(a.element));
  const marked = parts.filter(({ mark }) => mark);
  const label = `${title}: ${plural(placed.length, 'element')} on ${width} × ${height} pixels, ${marked.length} ${marked[0]?.mark ?? 'marked'}`;
  return (
    <>
      <p class="row soft">{elements.map(({ bounds, text }) => !bounds && <span>{visible(shortened(text))}</span>)}</p>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} style={{ '--ratio': width / height }}>
        {placed.map(({ element, mark }) => (
          <Box {...{ element, mark, letter }} />
        ))}
      </svg>
      <ul class="note">
        {marked.slice(0, MOST_LISTED).map(({ element, mark }) => (
          <li class={mark}>
            {mark && <Sign mark={mark} />} {visible(describe(element))}
          </li>
        ))}
      </ul>
    </>
  );
}

function areaOf({ bounds }: ScreenElement): number {
  return bounds === undefined ? 0 : (bounds.right - bounds.left) * (bounds.bottom - bounds.top);
}

/** An element in words, such as `Switch “Dark theme”, checked, at 880, 1490`. */
function describe({ role, text, states, bounds }: ScreenElement): string {
  const place = bounds && `at ${bounds.left}, ${bounds.top}`;
  return [`${role} ${text && `“${shortened(text)}”`}`.trim(), ...states, place].filter(Boolean).join(', ');
}

/** Most characters of a text that are drawn. */
const MOST_DRAWN = 2000;

function shortened(text: string): string {
  return text.length > MOST_DRAWN ? `${text.slice(0, MOST_DRAWN)}…` : text;
}

/** A letter's width, as a share of its height. */
const LETTER_WIDTH = 0.6;

/** An element as a box with as much of its text as fits. @param letter greatest height of a letter */
function Box({ element, mark, letter }: { element: ScreenElement; mark: Mark | undefined; letter: number }) {
  const pattern = useId();
  const { left, top, right, bottom } = element.bounds ?? { left: 0, top: 0, right: 0, bottom: 0 };
  const [width, height] = [right - left, bottom - top];
  const ticks = [element.states.includes('checked') && '☑ ', element.states.includes('not-checked') && '☐ '];
  // Characters that hide, reorder or have no shape are not drawn.
  const lines = `${ticks.find(Boolean) || ''}${shortened(element.text)}`
    .split('\n')
    .map((line) => line.replace(/\p{C}/gu, ' '));
  const letters = Math.max(1, ...lines.map((line) => line.length));
  // A long text shrinks down to 70 % before it is cut.
  const largest = Math.min(letter, height * 0.62);
  const size = Math.max(largest * 0.7, Math.min(largest, width / (letters + 2) / LETTER_WIDTH));
  const room = Math.max(1, Math.floor(width / size / LETTER_WIDTH - 1));
  const shown = lines.slice(0, Math.max(1, Math.floor(height / size / 1.25)));
  // A single line is in the middle of a low box, and at the top of a high one, which may contain others.
  const first = shown.length === 1 && height < 4 * letter ? height / 2 : size * 0.8;
  const area = { x: left, y: top, width, height };
  const texts = shown.map((line, at) => (
    <text
      x={left + size * 0.4}
      y={top + first + at * size * 1.25}
      dominant-baseline="central"
      style={{ fontSize: `${size}px`, fill: 'var(--ink)' }}
    >
      {line.length > room ? `${line.slice(0, room - 1)}…` : line}
    </text>
  ));
  return (
    <g class={mark}>
      <title>{`${mark ? `${mark}: ` : ''}${describe(element)}`}</title>
      <rect {...area} stroke-dasharray={mark === 'missing' ? '5 3' : undefined} />
      {mark && (
        <>
          <pattern id={pattern} width={letter / 2} height={letter / 2} patternUnits="userSpaceOnUse">
            <path
              d={mark === 'missing' ? `M0 ${letter / 2}L${letter / 2} 0` : `M0 ${letter / 4}h${letter / 4}`}
              stroke-width={letter / 12}
            />
          </pattern>
          <rect {...area} style={{ fill: `url(#${pattern})`, stroke: 'none' }} />
        </>
      )}
      {texts}
    </g>
  );
}

/** The top-level nodes of a range, each with its descendants. */
function branches(tree: Drawing<TreeScreen>, from: number, to: number): ComponentChild[] {
  const { nodes } = tree.screen;
  const drawn: ComponentChild[] = [];
  for (let at = from, end = from; at < to; at = end) {
    const node = nodes[at];
    if (node === undefined) break;
    do end++;
    while (end < to && (nodes[end]?.depth ?? 0) > node.depth);
    const label = <Label node={node} mark={tree.markAt(at)} />;
    const inner = end > at + 1 && (
      <details open>
        <summary>{label}</summary>
        {branches(tree, at + 1, end)}
      </details>
    );
    drawn.push(inner || <div>{label}</div>);
  }
  return drawn;
}

function Label({ node, mark }: { node: TreeNode; mark: Mark | undefined }) {
  const { role, text, states } = node;
  return (
    <span class={mark}>
      {mark && <Sign mark={mark} />} {role !== '' && <b>{visible(shortened(`${role}:`))}</b>} {visible(shortened(text))}{' '}
      <small>{visible(shortened(states))}</small>
    </span>
  );
}
