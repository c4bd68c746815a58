// A pattern as a program of few kinds of instructions, which src/pattern.ts runs, and texts without which it is nowhere found.

import { type Instruction, type Node, neededIn } from './pattern-tree.js';
import { present } from './present.js';

/** A longer program is refused: its time and memory grow with its length. */
const MOST_INSTRUCTIONS = 1000;

interface PatternProgram {
  readonly program: readonly Instruction[];
  /** Texts of which each match holds one at least; undefined where none can be told. */
  readonly needed: readonly string[] | undefined;
}

/** @throws SyntaxError with the reason, for what JavaScript or this subset of it does not know */
export function programOf(source: string, ignoreCase: boolean): PatternProgram {
  try {
    new RegExp(source, 'um');
  } catch (error) {
    // JavaScript throws nothing but a SyntaxError here, whose reason stands behind the pattern.
    throw new SyntaxError((error as SyntaxError).message.replace(/^.*: (?=[^:]+$)/s, ''));
  }
  const program: Instruction[] = [];
  const node = new Parser(source, ignoreCase).parse();
  emit(node, program);
  program.push({ op: 'match' });
  return { program, needed: neededIn(node) };
}

/** A character that takes nothing but itself, or a sign behind a backslash. */
const STANDS_FOR_ITSELF = /^(?:[^\\.[\]]|\\[^\p{L}\p{N}])$/u;

/** Reads what JavaScript has taken for a pattern already. */
class Parser {
  #at = 0;

  constructor(
    private readonly source: string,
    private readonly ignoreCase: boolean,
  ) {}

  parse(): Node {
    const nodes = [this.#sequence()];
    while (this.#skip('|')) nodes.push(this.#sequence());
    return nodes.length === 1 ? present(nodes[0]) : { kind: 'either', nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.source.length && !/[|)]/.test(this.source.charAt(this.#at))) nodes.push(this.#repeated());
    return { kind: 'sequence', nodes };
  }

  #repeated(): Node {
    const node = this.#single();
    const found = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})(\??)/.exec(this.source.slice(this.#at));
    if (found === null) return node;
    const [whole, sign, least, comma, most, lazy] = found;
    this.#at += whole.length;
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0;
    const max = sign === undefined ? mostOf(min, comma, most) : sign === '?' ? 1 : Infinity;
    return { kind: 'repeat', node, min, max, isLazy: lazy === '?' };
  }

  #single(): Node {
    if (this.#skip('(')) return this.#group();
    if (this.#skip('^')) return assertion((text, at) => at === 0 || isLineEnd(text[at - 1]));
    if (this.#skip('$')) return assertion((text, at) => at === text.length || isLineEnd(text[at]));
    const rest = this.source.slice(this.#at);
    if (/^\\[bB]/.test(rest)) {
      this.#at += 2;
      const isWanted = rest[1] === 'b';
      return assertion((text, at) => (isWordAt(text, at - 1) !== isWordAt(text, at)) === isWanted);
    }
    if (/^\\(?:[1-9]|k<)/.test(rest))
      throw new SyntaxError('it refers back to a group; write out what may stand there');
    return this.#character(rest);
  }

  #group(): Node {
    const rest = this.source.slice(this.#at);
    const [opening, name] = /^\?(?:<([^=!>]+)>|:)/.exec(rest) ?? [''];
    if (opening === '' && rest.startsWith('?')) {
      throw new SyntaxError('it looks ahead or behind, or sets flags; use "lacks", "not" or "ignore_case"');
    }
    this.#at += opening.length;
    const node = this.parse();
    this.#skip(')');
    return name === undefined ? node : { kind: 'named', name, node };
  }

  /** A character, an escape or a class: JavaScript says what it takes. */
  #character(rest: string): Node {
    const [whole = ''] =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\p\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-f]{4}(?:\\u[\da-f]{4})?|\\x[\da-f]{2}|\\c[a-z]|\\.|.)/isu.exec(
        rest,
      ) ?? [];
    this.#at += whole.length;
    const one = new RegExp(`^(?:${whole})$`, this.ignoreCase ? 'ui' : 'u');
    const known = new Map<number, boolean>();
    const takes = (point: number) => {
      const before = known.get(point);
      if (before !== undefined) return before;
      const taken = one.test(String.fromCodePoint(point));
      known.set(point, taken);
      return taken;
    };
    const step = { op: 'take' as const, takes };
    return this.ignoreCase || !STANDS_FOR_ITSELF.test(whole)
      ? { kind: 'one', step }
      : { kind: 'one', step, literal: whole.replace('\\', '') };
  }

  #skip(sign: string): boolean {
    const isThere = this.source.startsWith(sign, this.#at);
    if (isThere) this.#at += sign.length;
    return isThere;
  }
}

function mostOf(min: number, comma: string | undefined, most: string | undefined): number {
  if (comma === undefined) return min;
  return most === '' ? Infinity : Number(most);
}

function assertion(holds: (text: string, at: number) => boolean): Node {
  return { kind: 'one', step: { op: 'assert', holds } };
}

function isLineEnd(character: string | undefined): boolean {
  return character !== undefined && /[\n\r\u2028\u2029]/.test(character);
}

function isWordAt(text: string, at: number): boolean {
  return /\w/.test(text.charAt(at));
}

function emit(node: Node, program: Instruction[]): void {
  if (program.length > MOST_INSTRUCTIONS) {
    throw new SyntaxError(`it is longer than ${MOST_INSTRUCTIONS} instructions; use smaller counts`);
  }
  switch (node.kind) {
    case 'one':
      program.push(node.step);
      return;
    case 'sequence':
      for (const inner of node.nodes) emit(inner, program);
      return;
    case 'either':
      emitEither(node.nodes, program);
      return;
    case 'named':
      program.push({ op: 'save', name: node.name, isEnd: false });
      emit(node.node, program);
      program.push({ op: 'save', name: node.name, isEnd: true });
      return;
    case 'repeat':
      emitRepeat(node, program);
      return;
    default:
      node satisfies never;
  }
}

function emitEither(nodes: readonly Node[], program: Instruction[]): void {
  const jumps: Extract<Instruction, { op: 'jump' }>[] = [];
  for (const [index, node] of nodes.entries()) {
    const isLast = index === nodes.length - 1;
    const split = { op: 'split' as const, first: program.length + 1, second: 0 };
    if (!isLast) program.push(split);
    emit(node, program);
    if (isLast) break;
    const jump = { op: 'jump' as const, to: 0 };
    program.push(jump);
    jumps.push(jump);
    split.second = program.length;
  }
  for (const jump of jumps) jump.to = program.length;
}

function emitRepeat({ node, min, max, isLazy }: Extract<Node, { kind: 'repeat' }>, program: Instruction[]): void {
  for (let count = 0; count < min; count++) emit(node, program);
  const splits: Extract<Instruction, { op: 'split' }>[] = [];
  const start = program.length;
  const optional = max === Infinity ? 1 : max - min;
  for (let count = 0; count < optional; count++) {
    const split = { op: 'split' as const, first: 0, second: 0 };
    splits.push(split);
    program.push(split);
    const body = program.length;
    emit(node, program);
    if (max === Infinity) program.push({ op: 'jump', to: start });
    if (isLazy) split.second = body;
    else split.first = body;
  }
  for (const split of splits) {
    if (isLazy) split.first = program.length;
    else split.second = program.length;
  }
}
