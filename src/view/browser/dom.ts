// The pages' elements: found by their id, and made without markup, so that no text of a model becomes an element. Of texts of models
// all is seen that they hold.

type Child = Node | string | undefined | false | readonly Child[];
type Attributes = Readonly<Record<string, string | undefined | ((event: Event) => void)>>;

/** An element that the page must hold. */
export function part(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/** The JSON that the page holds under an id. */
export function json<T>(id: string): T {
  return JSON.parse(part(id).textContent ?? '');
}

/** A new element; functions among the attributes listen to events, and what is undefined is left out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...nodesOf(children));
  return element;
}

function nodesOf(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (child === undefined || child === false) return [];
    return child instanceof Node || typeof child === 'string' ? child : nodesOf(child);
  });
}

export function button(text: string, attributes: Attributes, click: () => void): HTMLButtonElement {
  return make('button', { type: 'button', ...attributes, click }, text);
}

/** A field that is chosen or not. */
export function option(type: 'checkbox' | 'radio', text: string, isChosen: boolean, choose: () => void): HTMLElement {
  const input = make('input', { type, name: 'side', change: choose });
  input.checked = isChosen;
  return make('label', {}, input, text);
}

/** An element that opens on a click, and is filled when it is opened first. */
function fold(title: string, size: string, fill: () => Child): HTMLElement {
  const details = make('details', {}, make('summary', {}, title, make('span', { class: 'soft' }, size)));
  details.addEventListener('toggle', () => details.append(...nodesOf([fill()])), { once: true });
  return details;
}

/** A text that is there on demand. */
export function textFold(title: string, text: string): HTMLElement {
  return fold(title, sizeOf(text), () => block(text));
}

/** What happened before the turn of a sample, turn by turn: action and observation of each, one after the other. */
export function historyFold(said: readonly string[]): HTMLElement {
  const turns = Array.from({ length: said.length / 2 }, (_, turn) => said.slice(2 * turn, 2 * turn + 2));
  const size = `${count(turns.length)}${turns.length === 1 ? ' earlier turn, ' : ' earlier turns, '}`;
  return fold('History', size + sizeOf(...said), () =>
    turns.map((turn, at) =>
      fold(`Turn ${at + 1}`, sizeOf(...turn), () =>
        turn.map((text, place) => [make('h4', {}, place === 0 ? 'Action' : 'Observation'), block(text)]),
      ),
    ),
  );
}

/** Remarks of the judge under their title. */
export function remarks(title: string, items: readonly string[]): HTMLElement {
  const lines = items.map((item) => make('li', {}, visible(item.replace(/\s+/g, ' '))));
  const shown = lines.length === 0 ? make('p', { class: 'soft' }, 'None named.') : make('ul', {}, lines);
  return make('div', {}, make('h4', {}, title), shown);
}

export function count(number: number): string {
  return number.toLocaleString('en');
}

function sizeOf(...texts: readonly string[]): string {
  return `${count(texts.reduce((sum, text) => sum + text.length, 0))} characters`;
}

/** What cannot be seen, or would reorder what stands beside it, is shown by name. */
const UNSEEN =
  /\t| +$|[\ufe00-\ufe0f\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u115f\u1160\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb]/g;
/** In what changed, every space counts. */
const UNSEEN_CHANGED = new RegExp(UNSEEN.source.replace(' +$', ' +'), 'g');

/** A line of text in parts. */
export function visible(text: string, isChanged = false): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const { 0: match, index } of text.matchAll(isChanged ? UNSEEN_CHANGED : UNSEEN)) {
    parts.push(text.slice(at, index), named(match));
    at = index + match.length;
  }
  return [...parts, text.slice(at)];
}

function named(match: string): HTMLElement {
  const code = match.charCodeAt(0);
  if (match === '\t') return make('span', { class: 'tab' }, '\t');
  if (code === 32) return make('span', { class: 'sp' }, match);
  const point = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return make('span', { class: 'ctl', title: point }, code < 32 ? String.fromCharCode(0x2400 + code) : point);
}

/** A text of several lines as it is. */
export function block(text: string, look?: string): HTMLElement {
  const lines = text.split('\n').map((line, at) => [at > 0 && '\n', visible(line)]);
  return make('pre', { tabindex: '0', class: look }, lines);
}
