// JSON: what a value is, how an object is read, and one text for one value.

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value holds other values: an object or a list. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Whether a value is an object: not a list, and not null. */
export function isObject(value: unknown): value is JsonObject {
  return isContainer(value) && !Array.isArray(value);
}

/** A whole number that a double holds exactly. */
export function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

/** The object that a value is, or one without keys: for looking into what may have any shape. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value that a text is as JSON; undefined where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The JSON object in a text; undefined where the text is no JSON, or JSON of another kind. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

/** Whether a text of JSON nests deeper than that: whoever walks its value would run out of stack. */
export function nestsBeyond(text: string, deepest: number): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"?|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth++;
    else if (token === ']' || token === '}') depth--;
    if (depth > deepest) return true;
  }
  return false;
}

/** JSON with sorted keys and without undefined members: one text for one value. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isObject(value)) {
    const entries = Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** JSON in ASCII: it holds nothing that hides or reorders text where it is printed. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
