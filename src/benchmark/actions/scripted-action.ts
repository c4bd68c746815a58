// An agent's actions in a browser or on a desktop, written as calls: which arguments they name, and which of them do the same.

import { type Gesture, gestureOf, isSameGesture, type Screen } from './gesture.js';
import { type PythonCall, statementsOf } from './python-call.js';

/** One step: a gesture, or code that is no single call. */
type Step = Gesture | { readonly code: string };

export type Script = readonly Step[];

/** What positional arguments are called, by the name of the call. */
type Signatures = Readonly<Record<string, readonly string[]>>;

const BROWSER: Signatures = Object.fromEntries(
  [
    'click bid button modifiers',
    'dblclick bid button modifiers',
    'hover bid',
    'focus bid',
    'clear bid',
    'fill bid value',
    'press bid key',
    'select_option bid options',
    'drag_and_drop from_bid to_bid',
    'upload_file bid file',
    'scroll delta_x delta_y',
    'goto url',
    'browser_navigate url',
    'keyboard_press key',
    'keyboard_down key',
    'keyboard_up key',
    'keyboard_type text',
    'keyboard_insert_text text',
    'mouse_click x y button',
    'mouse_dblclick x y button',
    'mouse_move x y',
    'mouse_drag_and_drop from_x from_y to_x to_y',
    'tab_focus index',
    'noop wait_ms',
    'send_msg_to_user text',
    'report_infeasible reason',
  ].map(signature),
);

const DESKTOP: Signatures = Object.fromEntries(
  [
    'click x y clicks interval button duration',
    'moveTo x y duration',
    'move xOffset yOffset duration',
    'dragTo x y duration tween button',
    'drag xOffset yOffset duration tween button',
    'scroll clicks x y',
    'hscroll clicks x y',
    'write message interval',
    'press keys presses interval',
    'keyDown key',
    'keyUp key',
    'mouseDown x y button',
    'mouseUp x y button',
  ].map(signature),
);

function signature(line: string): [string, readonly string[]] {
  const [name = '', ...names] = line.split(' ');
  return [name, names];
}

/** What a browser's script does. */
export function browserScript(text: string): Script {
  return statementsOf(text).map((statement) => ('code' in statement ? statement : called(statement, BROWSER)));
}

/** What a desktop's script does. Waiting between two steps does not matter. */
export function desktopScript(text: string): Script {
  return statementsOf(text).flatMap((statement): Step[] =>
    'code' in statement ? [statement] : desktopGestures(statement),
  );
}

/** What holds where an argument is left out. */
const DEFAULTS: Readonly<Record<string, unknown>> = { button: 'left', clicks: 1, presses: 1 };

function called({ name, positional, named }: PythonCall, signatures: Signatures): Gesture {
  const names = Object.hasOwn(signatures, name) ? (signatures[name] ?? []) : [];
  const placed = positional.map((value, at) => [names[at] ?? `${at}`, value] as const);
  const all = { ...Object.fromEntries(placed), ...named };
  const told = Object.entries(all).filter(([key, value]) => DEFAULTS[key] !== value || name.endsWith('scroll'));
  // One option may stand without its list.
  const unwrapped = told.map(([key, value]) => [key, key === 'options' ? only(value) : value] as const);
  return gestureOf(name, Object.fromEntries(unwrapped));
}

function only(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/** Calls that are others with an argument more. */
const CLICKS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  doubleClick: { clicks: 2 },
  tripleClick: { clicks: 3 },
  rightClick: { button: 'right' },
  middleClick: { button: 'middle' },
  leftClick: {},
};
const MOST_PRESSES = 20;

function desktopGestures(call: PythonCall): Gesture[] {
  const name = call.name.replace(/^(?:pyautogui|pag|pg)\./, '');
  if (name === 'sleep' || name === 'time.sleep') return [];
  if (name === 'typewrite') return desktopGestures({ ...call, name: 'write' });
  const more = Object.hasOwn(CLICKS, name) ? CLICKS[name] : undefined;
  if (more !== undefined) {
    const [x, y] = call.positional;
    const places = [x, y].filter((place) => place !== undefined);
    return desktopGestures({ name: 'click', positional: places, named: { ...call.named, ...more } });
  }
  if (name === 'hotkey') return [gestureOf(name, { keys: call.positional.flat() })];
  // A place may be given as a pair.
  const [first, ...others] = call.positional;
  const positional = Array.isArray(first) && name !== 'press' ? [...first, ...others] : call.positional;
  const gesture = called({ ...call, name, positional }, DESKTOP);
  return name === 'press' ? presses(gesture) : [gesture];
}

/** Keys pressed one after the other, each as a gesture of its own. */
function presses(gesture: Gesture): Gesture[] {
  const { keys, presses: count = 1, ...rest } = gesture.rest;
  const list: unknown[] = Array.isArray(keys) ? keys : [keys];
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1) return [gesture];
  if (count * list.length > MOST_PRESSES) return [gesture];
  const each = list.map((key) => ({ ...gesture, rest: { ...rest, keys: key } }));
  return Array.from({ length: count }, () => each).flat();
}

/** Whether two scripts do the same, step by step. */
export function isSameScript(a: Script, b: Script, screen: Screen): boolean {
  return a.length === b.length && a.every((step, at) => isSameStep(step, b[at], screen));
}

function isSameStep(a: Step, b: Step | undefined, screen: Screen): boolean {
  if (b === undefined) return false;
  if ('code' in a || 'code' in b) return 'code' in a && 'code' in b && a.code === b.code;
  return isSameGesture(a, b, screen);
}
