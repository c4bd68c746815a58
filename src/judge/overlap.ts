// How many of their lines, or of their JSON values, two texts share.

import { isContainer } from '../json.js';
import { commonCount, intern, numbered } from '../symbols.js';

/** F1 over the multisets of lines; white space at line ends and blank lines do not count. Both texts hold more than white space. */
export function lineF1(prediction: string, truth: string): number {
  return multisetF1(lines(prediction), lines(truth));
}

function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
}

/** F1 = 2 |P ∩ T| / (|P| + |T|) over multisets that are not both empty, times 100. */
function multisetF1(prediction: readonly string[], truth: readonly string[]): number {
  const known = new Map<string, number>();
  const p = numbered(prediction, known);
  const t = numbered(truth, known);
  return (200 * commonCount(p, t, known.size)) / (p.length + t.length);
}

/** F1 over the multisets of (path, leaf); undefined unless both texts are JSON and the truth is an object or a list. */
export function jsonF1(prediction: string, truth: string): number | undefined {
  const wanted = parseJson(truth);
  // A bare scalar has no structure: terminal output such as `42` would otherwise count as JSON.
  if (typeof wanted !== 'object' || wanted === null) {
    return undefined;
  }
  const given = parseJson(prediction);
  if (given === undefined) {
    return undefined;
  }
  const paths = new Map<string, number>();
  return multisetF1(leaves(given, paths), leaves(wanted, paths));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Every leaf with its path. An empty object or array is a leaf. Paths are numbers, drawn from one table for both texts,
 * and the walk keeps its own stack: hostile nesting of any depth costs linear time and memory.
 */
function leaves(root: unknown, paths: Map<string, number>): string[] {
  const found: string[] = [];
  const pending: { readonly path: number; readonly value: unknown }[] = [{ path: intern(paths, ''), value: root }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { path, value } = node;
    const kind = Array.isArray(value) ? '[' : '.';
    const entries = isContainer(value) ? Object.entries(value) : [];
    if (entries.length === 0) {
      found.push(`${path} ${JSON.stringify(value)}`);
    }
    for (const [key, child] of entries) {
      pending.push({ path: intern(paths, `${path}${kind}${key}`), value: child });
    }
  }
  return found;
}
