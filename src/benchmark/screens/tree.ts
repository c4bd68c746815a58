// Screens that are trees: JSON.

import { nestsBeyond, parseJson } from '../../core/json.js';

/** JSON as a tree: its nodes in order. */
export interface TreeScreen {
  readonly kind: 'json';
  readonly nodes: readonly TreeNode[];
  /** Whether nodes beyond `MOST_NODES` are missing. */
  readonly cut: boolean;
}

export interface TreeNode {
  /** From 0 to `DEEPEST`. Deeper nodes that follow a node are within it. */
  readonly depth: number;
  /** Its key; empty in a list. */
  readonly role: string;
  readonly text: string;
  /** What it contains if it has no text, such as `{…}`. */
  readonly states: string;
}

const MOST_NODES = 3000;
const DEEPEST = 64;

/** JSON as a tree; undefined if a text is not an object or a list, or nests too deep. JSON within a string is part of the tree. */
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

/** Adds the entries of an object or a list, from its text: numbers keep all their digits, and duplicate keys are all kept. */
function addEntries(nodes: TreeNode[], text: string, topDepth: number): void {
  let depth = topDepth - 1;
  let role = '';
  const add = (more: Partial<TreeNode>) =>
    nodes.push({ depth: Math.min(depth, DEEPEST), role, text: '', states: '', ...more });
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
