// An observation as the screen that it describes, and the differences between two screens. Also runs in browsers, so nothing of Node is
// imported.

import { equalRuns } from '../../core/edits.js';
import { type Bounds, type ElementScreen, elementScreen } from './elements.js';
import { type TerminalScreen, terminalScreen } from './terminal.js';
import { jsonTree, type TreeScreen } from './tree.js';

/** A screen that can be drawn. `cut` says that a part of the observation is missing from it. */
export type Screen = TerminalScreen | ElementScreen | TreeScreen;

/** How many characters of an observation are read; longer JSON is not drawn. */
const LONGEST = 500_000;
/** Sequences and characters that only a terminal can show. */
const MOVES_CURSOR = /\x1b\[|[\b\r](?!\n)/;

const READERS: Readonly<Record<string, (observation: string) => Screen | undefined>> = {
  terminal: terminalScreen,
  swe: (observation) =>
    jsonTree(observation) ?? (MOVES_CURSOR.test(observation) ? terminalScreen(observation) : undefined),
  android: elementScreen,
  os: elementScreen,
};

/**
 * The screen that an observation of a domain describes; undefined if it cannot be drawn. Time and size grow at most with the
 * observation's length.
 */
export function screenOf(domain: string, observation: string): Screen | undefined {
  const read = Object.hasOwn(READERS, domain) ? READERS[domain] : undefined;
  const screen = (read ?? jsonTree)(observation.slice(0, LONGEST));
  return screen && { ...screen, cut: screen.cut || observation.length > LONGEST };
}

/** How far an edge may be moved, as a share of the truth's width and height. */
const NEAR = 0.02;

/**
 * The differences between two screens of one kind: the indexes of the truth's lines, elements or nodes that are `missing`, and of the
 * prediction's that are `invented`. Undefined if the screens are of different kinds. Numbers by which actions name elements are not
 * compared, nor are styles and blanks at the ends of lines. An element may be moved a little (`NEAR`), and be anywhere in the list.
 */
export function unshared(truth: Screen, prediction: Screen) {
  if (truth.kind !== prediction.kind) return undefined;
  const [a, b] = [partsOf(truth), partsOf(prediction)];
  const [missing, invented] = [new Set(a.keys()), new Set(b.keys())];
  const pairs =
    truth.kind === 'elements' && prediction.kind === 'elements' ? elementPairs(truth, prediction) : linePairs(a, b);
  for (const [atA, atB] of pairs) {
    missing.delete(atA);
    invented.delete(atB);
  }
  return { missing, invented };
}

/** The compared content of each line, element or node, as one text. */
function partsOf(screen: Screen): string[] {
  if (screen.kind === 'terminal')
    return screen.lines.map((line) =>
      line
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    );
  if (screen.kind === 'elements')
    return screen.elements.map(({ role, text, states }) => JSON.stringify([role, text, states]));
  return screen.nodes.map(({ depth, role, text, states }) => JSON.stringify([depth, role, text, states]));
}

function linePairs(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  return equalRuns(a, b).flatMap((run) =>
    Array.from({ length: run.length }, (_, at) => [run.a + at, run.b + at] as const),
  );
}

/** Each element of the truth with the first equal, near and still unpaired element of the prediction. */
function elementPairs(truth: ElementScreen, prediction: ElementScreen): (readonly [number, number])[] {
  const free = new Map(partsOf(prediction).entries());
  return partsOf(truth).flatMap((part, atA) => {
    const found = [...free].find(
      ([atB, other]) => other === part && isNear(truth.elements[atA]?.bounds, prediction.elements[atB]?.bounds, truth),
    );
    if (found === undefined) return [];
    free.delete(found[0]);
    return [[atA, found[0]] as const];
  });
}

function isNear(a: Bounds | undefined, b: Bounds | undefined, { width, height }: ElementScreen): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [across, down] = [width * NEAR, height * NEAR];
  return (
    Math.max(Math.abs(a.left - b.left), Math.abs(a.right - b.right)) <= across &&
    Math.max(Math.abs(a.top - b.top), Math.abs(a.bottom - b.bottom)) <= down
  );
}
