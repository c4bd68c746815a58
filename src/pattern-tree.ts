// A pattern as a tree, with the instructions at its leaves; and texts that a match has to hold, without which no text need be searched.

export type Instruction =
  /** One character, by its code point. */
  | { readonly op: 'take'; readonly takes: (point: number) => boolean }
  | { readonly op: 'assert'; readonly holds: (text: string, at: number) => boolean }
  /** Tries the first way, and the second where it fails. */
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'save'; readonly name: string; readonly isEnd: boolean }
  | { readonly op: 'match' };

export type Node =
  /** `literal` where it takes that one character alone. */
  | { readonly kind: 'one'; readonly step: Instruction; readonly literal?: string }
  | { readonly kind: 'sequence'; readonly nodes: readonly Node[] }
  | { readonly kind: 'either'; readonly nodes: readonly Node[] }
  | { readonly kind: 'named'; readonly name: string; readonly node: Node }
  | {
      readonly kind: 'repeat';
      readonly node: Node;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    };

/** Texts of which every match holds one at least; undefined where no such are known. */
export function neededIn(node: Node): readonly string[] | undefined {
  switch (node.kind) {
    case 'one':
      return node.literal === undefined ? undefined : [node.literal];
    case 'named':
      return neededIn(node.node);
    case 'repeat':
      return node.min === 0 ? undefined : neededIn(node.node);
    case 'either':
      return eitherOf(node.nodes.map(neededIn));
    case 'sequence':
      return rarestOf(partsOf(node.nodes));
    default:
      return node satisfies never;
  }
}

/** What the parts of a sequence need, characters that follow one another together. */
function partsOf(nodes: readonly Node[]): (readonly string[])[] {
  const parts: (readonly string[])[] = [];
  let run = '';
  for (const node of nodes) {
    if (node.kind === 'one' && node.literal !== undefined) {
      run += node.literal;
      continue;
    }
    // An assertion takes no room between two characters.
    if (node.kind === 'one' && node.step.op === 'assert') continue;
    parts.push([run], neededIn(node) ?? []);
    run = '';
  }
  return [...parts, [run]];
}

function eitherOf(ways: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const known = ways.filter((way) => way !== undefined);
  return known.length === ways.length ? known.flat() : undefined;
}

/** The longer a text, the fewer texts hold it. */
function rarestOf(parts: readonly (readonly string[])[]): readonly string[] | undefined {
  const known = parts.filter((part) => shortestIn(part) > 0);
  return known.sort((a, b) => shortestIn(b) - shortestIn(a))[0];
}

function shortestIn(texts: readonly string[]): number {
  return texts.length === 0 ? 0 : Math.min(...texts.map((text) => text.length));
}
