// Whether values of a converted schema come to an end.

import { isContainer, isObject, type JsonObject } from '../../json.js';
import { SchemaError } from './schema-values.js';

/**
 * Refuses what cannot come to an end: a definition that is nothing but itself, which llama.cpp cannot read, and one that always holds
 * itself, since all properties are written.
 */
export function requireEnd(root: JsonObject): void {
  const definitions = schemasIn(root.$defs);
  const ending = new Set<string>();
  const ends = (node: JsonObject): boolean => {
    if (node.$ref !== undefined) return ending.has(definitionOf(node));
    if (Array.isArray(node.oneOf)) return node.oneOf.some(ends);
    return demanded(node).every(ends);
  };
  for (let known = -1; known < ending.size; ) {
    known = ending.size;
    for (const [name, node] of definitions) if (ends(node)) ending.add(name);
  }
  const endless = [...definitions.keys()].find((name) => !ending.has(name));
  if (endless !== undefined || !ends(root))
    throw new SchemaError(
      endless === undefined ? [] : ['$defs', endless],
      'always holds itself, so that it has no end',
    );
  for (const [name, node] of definitions) requireBeginning(node, [name], definitions);
}

/** Definitions on the way are in `above`. */
function requireBeginning(
  node: JsonObject,
  above: readonly string[],
  definitions: ReadonlyMap<string, JsonObject>,
): void {
  const alternatives = Array.isArray(node.oneOf) ? node.oneOf.filter(isObject) : [];
  for (const alternative of alternatives) requireBeginning(alternative, above, definitions);
  if (node.$ref === undefined) return;
  const name = definitionOf(node);
  if (above.includes(name)) throw new SchemaError(['$defs', name], 'leads to itself without anything between');
  const next = definitions.get(name);
  if (next !== undefined) requireBeginning(next, [...above, name], definitions);
}

function definitionOf({ $ref }: JsonObject): string {
  return String($ref).slice('#/$defs/'.length);
}

/** What is always written inside a value of the schema. */
function demanded(node: JsonObject): readonly JsonObject[] {
  return [
    ...schemasIn(node.properties).values(),
    ...schemasIn(node.prefixItems).values(),
    ...(Number(node.minItems ?? 0) > 0 ? [node.items] : []),
    ...(node.minProperties === 1 ? [node.additionalProperties] : []),
  ].filter(isObject);
}

/** The schemas in a record or a list, by name or place. */
function schemasIn(value: unknown): ReadonlyMap<string, JsonObject> {
  const entries = isContainer(value) ? Object.entries(value) : [];
  return new Map(entries.flatMap(([name, node]) => (isObject(node) ? [[name, node] as const] : [])));
}
