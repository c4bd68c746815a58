// Screens of phones and desktops: the elements of a view hierarchy or an accessibility tree with their bounds, in each notation of the
// benchmark.

/** What a phone or a desktop shows. */
export interface ElementScreen {
  readonly kind: 'elements';
  /** The extent of the elements, in pixels from the top left corner. */
  readonly width: number;
  readonly height: number;
  /** In the order of the observation, so that a container comes before its contents. */
  readonly elements: readonly ScreenElement[];
  /** Whether elements beyond `MOST_ELEMENTS` are missing. */
  readonly cut: boolean;
}

export interface ScreenElement {
  /** In pixels; undefined for a line that is not an element, such as the app's name, and for an element without a valid position. */
  readonly bounds: Bounds | undefined;
  /** The number by which actions name it; empty if it has none. */
  readonly id: string;
  /** Such as `Button` or `menu-item`; empty for a line that is not an element. */
  readonly role: string;
  readonly text: string;
  /** Such as `clickable` or `not-checked`. */
  readonly states: readonly string[];
}

export interface Bounds {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const MOST_ELEMENTS = 2000;
/** Longer lines are not read as elements. */
const LONGEST_LINE = 20_000;
/** No screen is larger, in pixels. */
const FURTHEST = 10_000;

/** The screen that an observation lists; undefined if none of its lines is an element with bounds. */
export function elementScreen(observation: string): ElementScreen | undefined {
  const lines = joinedRows(observation.split(/\r?\n/));
  const elements = lines.slice(0, MOST_ELEMENTS).map(elementOf);
  const placed = elements.flatMap(({ bounds }) => bounds ?? []);
  if (placed.length === 0) return undefined;
  return {
    kind: 'elements',
    width: Math.max(1, ...placed.map(({ right }) => right)),
    height: Math.max(1, ...placed.map(({ bottom }) => bottom)),
    elements,
    cut: lines.length > MOST_ELEMENTS,
  };
}

function elementOf(line: string): ScreenElement {
  const element = line.length > LONGEST_LINE ? undefined : (phoneElement(line) ?? desktopElement(line));
  return element ?? { bounds: undefined, id: '', role: '', text: line.trim(), states: [] };
}

/** Undefined if nothing can be drawn: an area without width or height, or one far outside of any screen. */
function boundsOf(edges: readonly (number | string | undefined)[]): Bounds | undefined {
  const [left = 0, top = 0, right = 0, bottom = 0] = edges.map(Number);
  const isOnScreen = Math.max(...[left, top, right, bottom].map(Math.abs)) <= FURTHEST && right > 0 && bottom > 0;
  return isOnScreen && right > left && bottom > top ? { left, top, right, bottom } : undefined;
}

const EDGES = String.raw`(?<left>-?\d{1,6}), ?(?<top>-?\d{1,6})(?:\]\[|, ?)(?<right>-?\d{1,6}), ?(?<bottom>-?\d{1,6})(?!\d)`;
const ROLE = String.raw`(?<role>[\w.$]{1,100})(?![\w.$])`;
/** The notations of phones, one element per line. None tries a part of a line twice, so time is linear. */
const PHONE_NOTATIONS = [
  // AndroidWorld: `[ 0] | android.widget.Switch | text="Off" res="app:id/x" | bounds=[42,149][147,275] | clickable`, or without bars;
  // DroidBot: `  - Button id="app:id/x" text="OK" flags=clickable,focusable bounds=0,258,267,384`.
  new RegExp(String.raw`^\s*(?:\[ *(?<id>\d{1,6})\]|-) (?:\| )?${ROLE}(?<rest>.*)\bbounds=\[?${EDGES}(?<flags>.*)$`),
  // DroidBot's markup: `<checkbox id=4 checked=False bound_box=42,290,1038,410>Oats</checkbox>`.
  new RegExp(String.raw`^\s*<${ROLE}(?<rest>[^>]*)\bbound_box=${EDGES}(?<flags>[^>]*)>(?<inner>.*)$`),
  // The phone tool of `<invoke>`: `8. TextView: "app:id/x", "Downloads" - (0,258,267,384)`.
  new RegExp(String.raw`^\s*(?<id>\d{1,6})\. ${ROLE}:(?<rest>.*) - \(${EDGES}\)(?<flags>)$`),
];
/** A quoted text, with its name if it has one. An unclosed one extends to the end. */
const QUOTED = /(?:([\w-]{1,40})=)?(?:"((?:[^"\\]|\\.)*)(?:"|\\?$)|'((?:[^'\\]|\\.)*)(?:'|\\?$))/g;
const RESOURCE = /^[\w.]+:id\//;

function phoneElement(line: string): ScreenElement | undefined {
  for (const notation of PHONE_NOTATIONS) {
    const groups = notation.exec(line)?.groups;
    if (groups === undefined) continue;
    const { left, top, right, bottom, role = '', rest = '', flags = '', inner = '' } = groups;
    const bounds = boundsOf([left, top, right, bottom]);
    if (bounds === undefined) return undefined;
    const attributes = `${rest} ${flags}`;
    const shortRole = role.slice(role.lastIndexOf('.') + 1);
    const id = groups.id ?? / id=(\d{1,6})(?!\S)/.exec(attributes)?.[1] ?? '';
    const text = inner.replace(/<\/\w{1,100}>\s?$/, '') || shownText(attributes, shortRole);
    return { bounds, id, role: shortRole, text, states: statesOf(attributes) };
  }
  return undefined;
}

/** What an element shows: its text, else unnamed text, else its description or hint. Names of resources are not shown. */
function shownText(attributes: string, role: string): string {
  const named = new Map<string, string>();
  for (const [, name = '', double, single] of attributes.matchAll(QUOTED)) {
    const value = double ?? single ?? '';
    if (name !== '' || (value !== '' && value !== role && !RESOURCE.test(value))) named.set(name, value);
  }
  return ['text', '', 'desc', 'alt', 'hint'].map((name) => named.get(name)).find(Boolean) ?? '';
}

/** The bare words among attributes, and those with the value true or false: `checked=False` is `not-checked`. */
function statesOf(attributes: string): string[] {
  const words = attributes
    .replace(QUOTED, ' ')
    .replace('flags=', ' ')
    .split(/[^\w=-]+/);
  return words.flatMap((word) => {
    const [, name = '', value] = /^([a-z][a-z_-]*)(?:=(true|false))?$/i.exec(word) ?? [];
    if (name === '') return [];
    return value?.toLowerCase() === 'false' ? [`not-${name}`] : [name];
  });
}

// A desktop's tree in OSWorld's format: rows of tab-separated cells, with position and size in the last two.

const ROW_START = /^[\w-]{1,60}\t/;
const ROW_END = /\t\((-?\d{1,6}), ?(-?\d{1,6})\)\t\((\d{1,6}), ?(\d{1,6})\)$/;

/** The lines that are not blank, without the table's header, and with each row of several lines joined into one. */
function joinedRows(lines: readonly string[]): string[] {
  const header = lines.find((line) => /^tag\t.*\tsize \(w&h\)$/.test(line));
  const columns = header?.split('\t').length ?? 0;
  const joined: string[] = [];
  let isOpen = false;
  for (const line of lines) {
    if (line === header || line.trim() === '') continue;
    if (isOpen) joined.push(`${joined.pop()}\n${line}`);
    else joined.push(line);
    // A row continues until its position and size appear.
    isOpen = columns > 0 && !ROW_END.test(line) && (isOpen || isCutRow(line, columns));
  }
  return joined;
}

/** Whether a row has fewer cells than the header, so that its text continues in the next line. */
function isCutRow(line: string, columns: number): boolean {
  return ROW_START.test(line) && line.split('\t', columns + 1).length < columns;
}

function desktopElement(row: string): ScreenElement | undefined {
  const [whole = '', ...numbers] = ROW_END.exec(row) ?? [];
  const [left = 0, top = 0, width = 0, height = 0] = numbers.map(Number);
  const bounds = boundsOf([left, top, left + width, top + height]);
  if (bounds === undefined || !ROW_START.test(row)) return undefined;
  const [role = '', ...cells] = row.slice(0, -whole.length).split('\t');
  const [name = '', text = '', states = ''] = cells.map(cellText);
  return { bounds, id: '', role, text: name === text ? name : `${name} ${text}`.trim(), states: statesOf(states) };
}

/** A cell's text: unquoted, and with its line breaks. */
function cellText(cell: string): string {
  const quoted = /^"([\s\S]*)"$/.exec(cell)?.[1];
  return (quoted?.replaceAll('""', '"') ?? cell).replaceAll('\\n', '\n');
}
