// Keys of JSON, labels, attributes and column heads under other names, their values kept.

import { earlierTurns } from '../turn.js';
import type { Sample } from '../types.js';
import { isJson, stringIn } from './content.js';

/** Undefined where the observation names nothing. */
export function renamedKeys(sample: Sample, text: string): string | undefined {
  return [jsonKeys(text), columns(text), attributes(text), labels(sample, text)].find(
    (renamed) => renamed !== undefined && renamed !== text,
  );
}

const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ id: 'identifier', name: 'title', title: 'heading', type: 'kind', text: 'content', content: 'body', url: 'link' },
  ...{ status: 'state', state: 'condition', error: 'failure', message: 'info', result: 'output', results: 'items' },
  ...{ date: 'day', snippet: 'excerpt', entities: 'objects', value: 'amount', selected: 'chosen', checked: 'ticked' },
  ...{ position: 'origin', size: 'extent', tag: 'role', states: 'flags', level: 'depth', package: 'bundle' },
  ...{ app: 'program', bounds: 'rect', desc: 'hint', alt: 'hint', description: 'summary', path: 'location' },
};

/** A synonym; else the words of the key joined in another way. */
function otherName(key: string): string {
  const synonym = SYNONYMS[key.toLowerCase()];
  if (synonym !== undefined) return /^\p{Lu}/u.test(key) ? synonym.charAt(0).toUpperCase() + synonym.slice(1) : synonym;
  if (/[_-]/.test(key)) return key.replace(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (/[a-z][A-Z]/.test(key)) return key.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return /\s/.test(key) ? key.replace(/\s+/g, '_') : `${key}_value`;
}

/** Of JSON, and of the JSON in its strings. */
function jsonKeys(text: string): string | undefined {
  if (!isJson(text)) return undefined;
  return text.replace(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (whole, key: string, colon?: string) => {
    if (colon !== undefined) return `"${otherName(key)}"${colon}`;
    const inner = jsonKeys(stringIn(`"${key}"`));
    return inner === undefined ? whole : JSON.stringify(inner);
  });
}

/** The heads of a table whose cells are parted by tabs, in its first line. */
function columns(text: string): string | undefined {
  const [head = '', ...rows] = text.split('\n');
  const cells = head.split('\t');
  const fits = rows.filter((row) => row.split('\t').length === cells.length).length;
  if (cells.length < 3 || fits < rows.length / 2 || fits === 0 || !cells.every((cell) => /^[a-z]/i.test(cell)))
    return undefined;
  const renamed = cells.map((cell) => cell.replace(/^[\w-]+/, otherName));
  return [renamed.join('\t'), ...rows].join('\n');
}

/** `name=value` within lines, where at least three lines have some. */
function attributes(text: string): string | undefined {
  const attribute = /(?<=[\s,<])([a-z][\w-]*)=(?=["'\w[(])/gi;
  const lines = text.split('\n').filter((line) => /^\s*(?:<\w|\[\d+\])/.test(line) && line.search(attribute) !== -1);
  if (lines.length < 3) return undefined;
  const marked = new Set(lines);
  return text
    .split('\n')
    .map((line) => (marked.has(line) ? line.replace(attribute, (_, key: string) => `${otherName(key)}=`) : line))
    .join('\n');
}

const LABEL = /^(?!\w*(?:Error|Exception)\b)\p{Lu}\p{Ll}[\p{L} ]{0,30}(?=: \S|:$)/gmu;

/** Labels at the start of lines that come again: here, or in what this environment showed before. */
function labels(sample: Sample, text: string): string | undefined {
  const counts = new Map<string, number>();
  for (const [label] of text.matchAll(LABEL)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const before = new Set(earlierTurns(sample).flatMap(({ response }) => response.match(LABEL) ?? []));
  const isLabel = (label: string) => (counts.get(label) ?? 0) > 1 || before.has(label);
  return text.replace(LABEL, (label) => (isLabel(label) ? otherName(label) : label));
}
