// The same observation as another tool would say it: another shell, another notation, another report.

import { isContainer, isObject } from '../../core/json.js';
import { drawn } from '../../core/random.js';
import { actionOf } from '../../core/turn.js';
import { isJson } from './units.js';
import { type Subject, toolCallIn } from './variant.js';

/** The first notation that the text is in decides. Undefined where none is told. */
export function foreignTool(subject: Subject, text: string): string | undefined {
  for (const translate of [
    jsonAsOther,
    shellAsPowerShell,
    replAsPython,
    tableAsTree,
    elementsAsTree,
    treeAsElements,
    testsAsPytest,
    diffAsPlain,
    numberedAsCode,
    hitsAsHtml,
    markdownAsHtml,
    outputAsJson,
  ]) {
    const translated = translate(text, subject);
    if (translated !== undefined && translated !== text) return translated;
  }
  return undefined;
}

function jsonAsOther(text: string, { random }: Subject): string | undefined {
  return isJson(text) ? drawn([asYaml, asXml], random)(JSON.parse(text)) : undefined;
}

function asYaml(value: unknown): string {
  const lines = (inner: unknown, indent: string): string => {
    const entries = isObject(inner) ? Object.entries(inner) : Object.entries(Object(inner));
    return entries
      .map(([key, part]) => {
        const head = indent + (isObject(inner) ? `${key}:` : '-');
        if (!isContainer(part))
          return `${head} ${typeof part === 'string' ? part.replaceAll('\n', `\n${indent}  `) : String(part)}`;
        return Object.keys(part).length === 0
          ? `${head} ${Array.isArray(part) ? '[]' : '{}'}`
          : `${head}\n${lines(part, `${indent}  `)}`;
      })
      .join('\n');
  };
  return lines(value, '');
}

function asXml(value: unknown): string {
  const element = (name: string, inner: unknown, indent: string): string => {
    if (!isContainer(inner)) return `${indent}<${name}>${escaped(String(inner))}</${name}>`;
    const parts = isObject(inner) ? Object.entries(inner) : Object.values(inner).map((part) => ['item', part] as const);
    if (parts.length === 0) return `${indent}<${name}/>`;
    const children = parts.map(([key, part]) => element(key.replace(/[^\w.-]/g, '_'), part, `${indent}  `));
    return [`${indent}<${name}>`, ...children, `${indent}</${name}>`].join('\n');
  };
  return element('response', value, '');
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;' })[sign] ?? '&gt;');
}

const SHELL_PROMPT = /^[\w.-]+@[\w.-]+:(\S*?)[#$](?= |$)/gm;

/** Prompts and messages of a Unix shell as PowerShell's. */
function shellAsPowerShell(text: string): string | undefined {
  if (text.search(SHELL_PROMPT) === -1) return undefined;
  return text
    .replace(SHELL_PROMPT, (_, path: string) => `PS ${windows(path)}>`)
    .replace(
      /^(?:\w+: )*(\S+): command not found$/gm,
      "$1 : The term '$1' is not recognized as the name of a cmdlet, function, script file, or operable program.",
    )
    .replace(
      /^(\w+): .*?'?([\w./-]+)'?: No such file or directory$/gm,
      (_, tool: string, path: string) => `${tool} : Cannot find path '${windows(path)}' because it does not exist.`,
    );
}

const windows = (path: string) => `C:${path.startsWith('/') ? '' : '\\'}${path.replaceAll('/', '\\')}`;

/** The prompt of Node as Python's. */
function replAsPython(text: string): string | undefined {
  return /^>(?: |$)/m.test(text) && /^>[ ]*$/m.test(text.trimEnd().split('\n').at(-1) ?? '')
    ? text.replace(/^>(?= |$)/gm, '>>>')
    : undefined;
}

/** A table whose cells are parted by tabs as a tree of roles. */
function tableAsTree(text: string): string | undefined {
  const [head = '', ...rows] = text.split('\n');
  const width = head.split('\t').length;
  if (width < 4 || rows.filter((row) => row.split('\t').length === width).length < 2) return undefined;
  return rows
    .map((row) => {
      const [kind = '', name = '', ...rest] = row.split('\t');
      const about = rest.filter((cell) => cell !== '');
      return `- ${kind}${name && ` "${name}"`}${about.length === 0 ? '' : ` [${about.join('] [')}]`}`;
    })
    .join('\n');
}

const ELEMENT = /^(\s*)<(\w+)((?: [\w-]+=(?:'[^']*'|"[^"]*"|[^\s'">]+))*) ?>([^<>]*)<\/\2>$/gm;

/** Elements, one a line, as lines of a tree. */
function elementsAsTree(text: string): string | undefined {
  if ((text.match(ELEMENT) ?? []).length < 2) return undefined;
  return text.replace(ELEMENT, (_, indent: string, kind: string, about: string, said: string) => {
    const id = /\bid=(\S+)/.exec(about)?.[1] ?? '-';
    return `${indent}[${id}] ${kind} "${said}"${about.replace(/ id=\S+/, '')}`;
  });
}

const NODE = /^(\s*)(?:\[(\d+)\] )?(\w+) (?:'([^'\n]*)'|"([^"\n]*)")(.*)$/gm;

/** Lines of a tree as elements. */
function treeAsElements(text: string): string | undefined {
  if (Array.from(text.matchAll(NODE)).filter(([, , id]) => id !== undefined).length < 3) return undefined;
  return text.replace(NODE, (_, indent: string, id = '', kind = '', single = '', double = '', rest = '') => {
    const about = rest.replace(/,/g, (comma: string, at: number) =>
      /[[(][^\])]*$/.test(rest.slice(0, at)) ? comma : '',
    );
    return `${indent}<${kind}${id && ` id="${id}"`}${about.trimEnd()}>${escaped(single || double)}</${kind}>`;
  });
}

const TEST = /^(\w+) \((\w+)\.(\w+)\.\w+\) \.\.\. (\w+)$/gm;

/** The lines of Python's unittest as those of pytest. */
function testsAsPytest(text: string): string | undefined {
  const states: Readonly<Record<string, string>> = { ok: 'PASSED', FAIL: 'FAILED', ERROR: 'ERROR', skipped: 'SKIPPED' };
  return text.search(TEST) === -1
    ? undefined
    : text.replace(
        TEST,
        (_, name: string, file: string, group: string, state: string) =>
          `${file}.py::${group}::${name} ${states[state] ?? state}`,
      );
}

/** A unified diff as the plain one of `diff`. */
function diffAsPlain(text: string): string | undefined {
  if (!/^@@ -\d+/m.test(text)) return undefined;
  return text
    .replace(/^(?:diff --git|index|---|\+\+\+) .*\n/gm, '')
    .replace(/^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*$/gm, '$1c$2')
    .replace(/^\+(.*)$/gm, '> $1')
    .replace(/^-(.*)$/gm, '< $1');
}

/** Lines behind a number and a tab as an editor would print them. */
function numberedAsCode(text: string): string | undefined {
  return (text.match(/^\s*\d+\t/gm) ?? []).length < 3 ? undefined : text.replace(/^\s*(\d+)\t/gm, '$1 | ');
}

/** A list of hits in labelled lines as a page of hits. */
function hitsAsHtml(text: string): string | undefined {
  if ((text.match(/^\[\d+\] https?:/gm) ?? []).length < 2) return undefined;
  return text
    .replace(/^\[\d+\] (https?:\S+)$/gm, '<cite>$1</cite>')
    .replace(/^Title: (.*)$/gm, '<h3>$1</h3>')
    .replace(/^Snippet: (.*)$/gm, '<p>$1</p>')
    .replace(/^([A-Z]\w+): (.*)$/gm, '<span class="meta">$1: $2</span>');
}

/** A page in Markdown as HTML. */
function markdownAsHtml(text: string): string | undefined {
  if ((text.match(/^#{1,6} +\S/gm) ?? []).length + (text.match(/^\s*[*-] +\S/gm) ?? []).length < 3) return undefined;
  return text
    .replace(/^(#{1,6}) +(.*)$/gm, (_, { length }: string, title: string) => `<h${length}>${title.trim()}</h${length}>`)
    .replace(/^(\s*)[*-] +(.*)$/gm, '$1<li>$2</li>')
    .replace(/`([^`\n]+)`/g, '<code>$1</code>');
}

/** What a tool says in plain text, in the envelope of another. */
function outputAsJson(text: string, { sample }: Subject): string | undefined {
  if (toolCallIn(actionOf(sample)) === undefined) return undefined;
  const isError = /^\s*(?:Error|Failed|fatal)\b/i.test(text);
  return isError
    ? JSON.stringify({ ok: false, error: { code: 'E_FAILED', message: text.trim() } })
    : JSON.stringify({ stdout: text, stderr: '', returncode: 0 }, null, 2);
}
