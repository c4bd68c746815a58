// The same observation as another tool would say it: another shell, another notation, another report.

import { isContainer } from '../../core/json.js';
import { drawn } from '../../core/random.js';
import { actionOf } from '../../core/turn.js';
import { isJson } from './units.js';
import { type Subject, toolCallIn } from './variant.js';

/** The first notation that the text is in decides. Undefined where none is told. */
export function foreignTool(subject: Subject, text: string): string | undefined {
  if (isJson(text))
    return drawn([(value: object) => asYaml(value), (value: object) => asXml(value)], subject.random)(JSON.parse(text));
  for (const [isIn, translate] of NOTATIONS) {
    const translated = isIn(text) ? translate(text) : text;
    if (translated !== text) return translated;
  }
  // What a tool says in plain text, in the envelope of another.
  if (toolCallIn(actionOf(subject.sample)) === undefined) return undefined;
  return /^\s*(?:Error|Failed|fatal)\b/i.test(text)
    ? JSON.stringify({ ok: false, error: { code: 'E_FAILED', message: text.trim() } })
    : JSON.stringify({ stdout: text, stderr: '', returncode: 0 }, null, 2);
}

function asYaml(value: object, indent = ''): string {
  return Object.entries(value)
    .map(([key, part]: [string, unknown]) => {
      const head = indent + (Array.isArray(value) ? '-' : `${key}:`);
      if (!isContainer(part))
        return `${head} ${typeof part === 'string' ? part.replaceAll('\n', `\n${indent}  `) : String(part)}`;
      if (Object.keys(part).length === 0) return `${head} ${Array.isArray(part) ? '[]' : '{}'}`;
      return `${head}\n${asYaml(part, `${indent}  `)}`;
    })
    .join('\n');
}

function asXml(value: unknown, name = 'response', indent = ''): string {
  if (!isContainer(value)) return `${indent}<${name}>${escaped(String(value))}</${name}>`;
  const parts = Object.entries(value);
  if (parts.length === 0) return `${indent}<${name}/>`;
  const nameOf = (key: string) => (Array.isArray(value) ? 'item' : key.replace(/[^\w.-]/g, '_'));
  const children = parts.map(([key, part]) => asXml(part, nameOf(key), `${indent}  `));
  return [`${indent}<${name}>`, ...children, `${indent}</${name}>`].join('\n');
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;' })[sign] ?? '&gt;');
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;
const windows = (path: string) => `C:${path.startsWith('/') ? '' : '\\'}${path.replaceAll('/', '\\')}`;

const SHELL_PROMPT = /^[\w.-]+@[\w.-]+:(\S*?)[#$](?= |$)/gm;
const ELEMENT = /^(\s*)<(\w+)((?: [\w-]+=(?:'[^']*'|"[^"]*"|[^\s'">]+))*) ?>([^<>]*)<\/\2>$/gm;
const NODE = /^(\s*)(?:\[(\d+)\] )?(\w+) (?:'([^'\n]*)'|"([^"\n]*)")(.*)$/gm;
const TEST = /^(\w+) \((\w+)\.(\w+)\.\w+\) \.\.\. (\w+)$/gm;
const TEST_STATES: Readonly<Record<string, string>> = {
  ok: 'PASSED',
  FAIL: 'FAILED',
  ERROR: 'ERROR',
  skipped: 'SKIPPED',
};

/** Whether a text is in the notation, and the text in another. */
const NOTATIONS: readonly (readonly [isIn: (text: string) => boolean, translate: (text: string) => string])[] = [
  // Prompts and messages of a Unix shell as PowerShell's.
  [
    (text) => count(text, SHELL_PROMPT) > 0,
    (text) =>
      text
        .replace(SHELL_PROMPT, (_, path: string) => `PS ${windows(path)}>`)
        .replace(
          /^(?:\w+: )*(\S+): command not found$/gm,
          "$1 : The term '$1' is not recognized as the name of a cmdlet, function, script file, or operable program.",
        )
        .replace(
          /^(\w+): .*?'?([\w./-]+)'?: No such file or directory$/gm,
          (_, tool: string, path: string) => `${tool} : Cannot find path '${windows(path)}' because it does not exist.`,
        ),
  ],
  // The prompt of Node as Python's.
  [(text) => /^>[ ]*$/.test(text.trimEnd().split('\n').at(-1) ?? ''), (text) => text.replace(/^>(?= |$)/gm, '>>>')],
  // A table whose cells are parted by tabs as a tree of roles.
  [
    (text) => {
      const [width = 0, ...widths] = text.split('\n').map((row) => row.split('\t').length);
      return width >= 4 && widths.filter((other) => other === width).length >= 2;
    },
    (text) =>
      text
        .split('\n')
        .slice(1)
        .map((row) => {
          const [kind = '', name = '', ...rest] = row.split('\t');
          const about = rest.filter((cell) => cell !== '').map((cell) => ` [${cell}]`);
          return `- ${kind}${name && ` "${name}"`}${about.join('')}`;
        })
        .join('\n'),
  ],
  // Elements, one a line, as lines of a tree.
  [
    (text) => count(text, ELEMENT) >= 2,
    (text) =>
      text.replace(ELEMENT, (_, indent: string, kind: string, about: string, said: string) => {
        const id = /\bid=(\S+)/.exec(about)?.[1] ?? '-';
        return `${indent}[${id}] ${kind} "${said}"${about.replace(/ id=\S+/, '')}`;
      }),
  ],
  // Lines of a tree as elements.
  [
    (text) => Array.from(text.matchAll(NODE)).filter(([, , id]) => id !== undefined).length >= 3,
    (text) =>
      text.replace(NODE, (_, indent: string, id = '', kind = '', single = '', double = '', rest = '') => {
        const about = rest.replace(/,/g, (comma: string, at: number) =>
          /[[(][^\])]*$/.test(rest.slice(0, at)) ? comma : '',
        );
        return `${indent}<${kind}${id && ` id="${id}"`}${about.trimEnd()}>${escaped(single || double)}</${kind}>`;
      }),
  ],
  // The lines of Python's unittest as those of pytest.
  [
    (text) => count(text, TEST) > 0,
    (text) =>
      text.replace(
        TEST,
        (_, name: string, file: string, group: string, state: string) =>
          `${file}.py::${group}::${name} ${TEST_STATES[state] ?? state}`,
      ),
  ],
  // A unified diff as the plain one of `diff`.
  [
    (text) => /^@@ -\d+/m.test(text),
    (text) =>
      text
        .replace(/^(?:diff --git|index|---|\+\+\+) .*\n/gm, '')
        .replace(/^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*$/gm, '$1c$2')
        .replace(/^\+(.*)$/gm, '> $1')
        .replace(/^-(.*)$/gm, '< $1'),
  ],
  // Lines behind a number and a tab as an editor would print them.
  [(text) => count(text, /^\s*\d+\t/gm) >= 3, (text) => text.replace(/^\s*(\d+)\t/gm, '$1 | ')],
  // A list of hits in labelled lines as a page of hits.
  [
    (text) => count(text, /^\[\d+\] https?:/gm) >= 2,
    (text) =>
      text
        .replace(/^\[\d+\] (https?:\S+)$/gm, '<cite>$1</cite>')
        .replace(/^Title: (.*)$/gm, '<h3>$1</h3>')
        .replace(/^Snippet: (.*)$/gm, '<p>$1</p>')
        .replace(/^([A-Z]\w+): (.*)$/gm, '<span class="meta">$1: $2</span>'),
  ],
  // A page in Markdown as HTML.
  [
    (text) => count(text, /^#{1,6} +\S/gm) + count(text, /^\s*[*-] +\S/gm) >= 3,
    (text) =>
      text
        .replace(
          /^(#{1,6}) +(.*)$/gm,
          (_, { length }: string, title: string) => `<h${length}>${title.trim()}</h${length}>`,
        )
        .replace(/^(\s*)[*-] +(.*)$/gm, '$1<li>$2</li>')
        .replace(/`([^`\n]+)`/g, '<code>$1</code>'),
  ],
];
