// Regular expressions whose time is bounded by pattern times text, whatever a model writes: no text makes one hang.

import { programOf } from './pattern-program.js';
import type { Instruction } from './pattern-tree.js';
import { present } from './present.js';
import type { Pattern } from './scenario.js';

/** What the named groups of a pattern caught; a group that took no part is absent. */
export type Groups = Readonly<Record<string, string>>;

interface CompiledPattern {
  /** Names of the groups, each once. */
  readonly names: readonly string[];
  test(text: string): boolean;
  /** The groups of the first match; undefined where there is none. */
  groups(text: string): Groups | undefined;
}

/** Of patterns that are searched for again and again. */
const COMPILED = new WeakMap<Pattern, CompiledPattern>();

/**
 * The pattern, ready to search texts. It reads as JavaScript's with the flags `u` and `m` (`^` and `$` stand at lines), without
 * back-references and looking around, and with counts of at most 1000 instructions in all.
 * @throws SyntaxError with the reason
 */
export function compilePattern(pattern: Pattern): CompiledPattern {
  const known = COMPILED.get(pattern);
  if (known !== undefined) return known;
  const compiled = compiledFrom(pattern);
  COMPILED.set(pattern, compiled);
  return compiled;
}

function compiledFrom({ source, ignoreCase }: Pattern): CompiledPattern {
  const { program, needed } = programOf(source, ignoreCase === true);
  const mayStart = startsOf(program);
  const find = (text: string) =>
    needed === undefined || needed.some((each) => text.includes(each)) ? search(program, mayStart, text) : undefined;
  const names = [...new Set(program.flatMap((step) => (step.op === 'save' ? [step.name] : [])))];
  return {
    names,
    test: (text) => find(text) !== undefined,
    groups: find,
  };
}

/** Where a group began and ended; -1 before it did. */
type Marks = Map<string, { start: number; end: number }>;

/**
 * Tries one alternative after the other, as JavaScript does, and never the same instruction at the same place twice: what failed
 * there once fails there always, since nothing looks back at how it was reached.
 */
function search(program: readonly Instruction[], mayStart: Starts, text: string): Groups | undefined {
  let tried: Uint8Array | undefined;
  for (let start = 0; start <= text.length; start += widthAt(text, start)) {
    // Almost no place of a long text can begin a match: one look tells.
    while (mayStart !== undefined && mayStart[text.charCodeAt(start)] === 0) start++;
    if (mayStart !== undefined && start >= text.length) break;
    tried ??= new Uint8Array(Math.ceil((program.length * (text.length + 1)) / 8));
    const found = matchAt(program, text, start, tried);
    if (found !== undefined) return found;
  }
  return undefined;
}

const ASCII = 128;
/** By character of ASCII, whether a match can begin with it; undefined where one can be empty. */
type Starts = Uint8Array | undefined;

function startsOf(program: readonly Instruction[]): Starts {
  const starts = new Uint8Array(ASCII);
  const seen = new Set<number>();
  const todo = [0];
  for (let pc = todo.pop(); pc !== undefined; pc = todo.pop()) {
    const step = present(program[pc]);
    if (seen.has(pc)) continue;
    seen.add(pc);
    if (step.op === 'match') return undefined;
    if (step.op === 'split') todo.push(step.first, step.second);
    else if (step.op === 'jump') todo.push(step.to);
    else if (step.op !== 'take') todo.push(pc + 1);
    else for (let point = 0; point < ASCII; point++) starts[point] ||= step.takes(point) ? 1 : 0;
  }
  return starts;
}

/** What is still to be tried, and what a group held before it was tried differently. */
type Todo =
  | { readonly pc: number; readonly at: number }
  | { readonly name: string; readonly was: { start: number; end: number } | undefined };

function matchAt(program: readonly Instruction[], text: string, start: number, tried: Uint8Array): Groups | undefined {
  const marks: Marks = new Map();
  const todo: Todo[] = [{ pc: 0, at: start }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if ('name' in next) {
      if (next.was === undefined) marks.delete(next.name);
      else marks.set(next.name, next.was);
      continue;
    }
    let { pc, at } = next;
    while (isFirstTry(tried, pc * (text.length + 1) + at)) {
      const step = present(program[pc]);
      if (step.op === 'match') return groupsOf(marks, text);
      if (step.op === 'split') {
        todo.push({ pc: step.second, at });
        pc = step.first;
        continue;
      }
      if (step.op === 'jump') {
        pc = step.to;
        continue;
      }
      if (step.op === 'save') {
        const was = marks.get(step.name);
        todo.push({ name: step.name, was });
        marks.set(step.name, step.isEnd ? { start: was?.start ?? at, end: at } : { start: at, end: -1 });
      } else if (step.op === 'assert') {
        if (!step.holds(text, at)) break;
      } else {
        if (at >= text.length || !step.takes(present(text.codePointAt(at)))) break;
        at += widthAt(text, at);
      }
      pc++;
    }
  }
  return undefined;
}

function isFirstTry(tried: Uint8Array, index: number): boolean {
  const byte = tried[index >> 3] ?? 0;
  const bit = 1 << (index & 7);
  tried[index >> 3] = byte | bit;
  return (byte & bit) === 0;
}

function groupsOf(marks: Marks, text: string): Groups {
  return Object.fromEntries(
    [...marks].flatMap(([name, { start, end }]) => (end < 0 ? [] : [[name, text.slice(start, end)]])),
  );
}

/** UTF-16 units of the character there. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
