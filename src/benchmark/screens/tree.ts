// Screens that are trees: a web page's accessibility tree, which has no bounds, and JSON.

import { nestsBeyond, parseJson } from '../../core/json.js';

/** A tree, as its nodes in order. */
export interface TreeScreen {
  /** `tree` for an accessibility tree, `json` for JSON, where the role of a node is its key. */
  readonly kind: 'tree' | 'json';
  readonly nodes: readonly TreeNode[];
  /** Whether nodes beyond `MOST_NODES` are missing. */
  readonly cut: boolean;
}

export interface TreeNode {
  /** From 0 to `DEEPEST`. What follows a node and is deeper is within it. */
  readonly depth: number;
  /** By which actions name it: a bid or a ref; empty where it has none. */
  readonly id: string;
  /** Such as `link`; empty for a line that is not a node. */
  readonly role: string;
  readonly text: string;
  /** Properties as they were written, such as `checked=false, focused`. */
  readonly states: string;
}

const MOST_NODES = 3000;
const DEEPEST = 64;

/**
 * A node of BrowserGym's tree, `[27] checkbox 'Only in stock', checked=false` behind tabs, or of a Playwright snapshot,
 * `- link "Sign in" [ref=e12]:` behind pairs of spaces.
 */
const NODE = /^([\t ]*)(- )?(?:\[(\w{1,20})\] )?([A-Za-z][\w-]{0,60})(?![\w-])(.*)$/;
const NAME = /^ (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/;
const REF = / \[ref=(\w{1,20})\]/;
/** A snapshot quotes a node that YAML would read otherwise. */
const QUOTED_NODE = /^([\t ]*- )'((?:[^']|'')*)'/;
const FENCE = /^\s*```\w*$/;

/** The accessibility tree in an observation, lines around it included; undefined where no line has a role with a name or a number. */
export function accessibilityTree(observation: string): TreeScreen | undefined {
  const lines = observation.split(/\r?\n/).filter((line) => line.trim() !== '' && !FENCE.test(line));
  const nodes = lines.slice(0, MOST_NODES).map(nodeOf);
  if (!nodes.some(({ role }) => role !== '')) return undefined;
  return { kind: 'tree', nodes, cut: lines.length > MOST_NODES };
}

function nodeOf(line: string): TreeNode {
  const plain = line.replace(QUOTED_NODE, (_, start: string, node: string) => start + node.replaceAll("''", "'"));
  const [, indent = '', dash, number, role = '', rest = ''] = NODE.exec(plain) ?? [];
  const [name, single, double] = NAME.exec(rest) ?? [];
  const id = number ?? REF.exec(rest)?.[1] ?? '';
  if (id === '' && name === undefined) {
    const start = line.length - line.trimStart().length;
    return { depth: depthOf(line.slice(0, start)), id: '', role: '', text: line.trim(), states: '' };
  }
  const behind = rest.slice(name?.length ?? 0).replace(number === undefined ? REF : '', '');
  // What a node of a snapshot holds may follow it on its line.
  const [, states = behind, inner = ''] = (dash === undefined ? undefined : /^([^:]*):(.*)$/.exec(behind)) ?? [];
  const text = single ?? double ?? '';
  return {
    depth: depthOf(indent),
    id,
    role,
    text: [text.replace(/\\(['"\\])/g, '$1'), inner.trim()].filter((part) => part !== '').join(': '),
    states: states.replace(/^[, ]+/, ''),
  };
}

/** A tab, or two spaces, is a level. */
function depthOf(indent: string): number {
  return Math.min(DEEPEST, Math.floor(indent.replaceAll('\t', '  ').length / 2));
}

/** JSON as a tree; undefined where a text is not an object or a list, or nests too deep. JSON within a string is part of the tree. */
export function jsonTree(text: string): TreeScreen | undefined {
  if (!isDrawn(text)) return undefined;
  const nodes: TreeNode[] = [];
  addEntries(nodes, text, 0);
  return { kind: 'json', nodes: nodes.slice(0, MOST_NODES), cut: nodes.length > MOST_NODES };
}

function isDrawn(text: string): boolean {
  return /^\s*[{[]/.test(text) && !nestsBeyond(text, DEEPEST) && parseJson(text) !== undefined;
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g;

/** Adds what an object or a list holds, from its text: numbers keep all their digits, and no entry hides another of the same key. */
function addEntries(nodes: TreeNode[], text: string, topDepth: number): void {
  let depth = topDepth - 1;
  let role = '';
  const add = (more: Partial<TreeNode>) =>
    nodes.push({ depth: Math.min(depth, DEEPEST), id: '', role, text: '', states: '', ...more });
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    if (nodes.length > MOST_NODES) return;
    if (token === ',') continue;
    if (token === '}' || token === ']') depth--;
    else if (token === ':') role = String(parseJson(nodes.pop()?.text ?? ''));
    else {
      const value = token.startsWith('"') ? parseJson(token) : undefined;
      const inner = typeof value === 'string' && isDrawn(value) ? value : undefined;
      if (token === '{' || token === '[') {
        if (depth >= topDepth) add({ states: token === '{' ? '{…}' : '[…]' });
        depth++;
      } else if (inner !== undefined) {
        add({ states: 'JSON in a string' });
        addEntries(nodes, inner, depth + 1);
      } else add({ text: value === undefined ? token : JSON.stringify(value) });
      role = '';
    }
  }
}
