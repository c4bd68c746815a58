// The rubrics of an official checkout: its judge prompts, and the user template in its Python source.

import { join } from 'node:path';
import { inTableOrder } from '../core/domains.js';
import { EXIT, UserError } from '../core/errors.js';
import { exists, listFolder, readText } from './prompts.js';

const OFFICIAL_TEMPLATE_FILE = join('eval', 'lwm_eval_utils', 'task_configs.py');
const OFFICIAL_TEMPLATE_NAME = 'JUDGE_USER_PROMPT';
const OFFICIAL_PROMPT_FILE = 'judge_system_prompt.txt';

/** What an official checkout holds. */
interface OfficialRubrics {
  /** The judge's system prompts by domain, in the published order. */
  readonly prompts: ReadonlyMap<string, string>;
  readonly userTemplate: string;
  readonly templateFile: string;
}

/** @throws UserError 66 where a file is missing, 65 where the template cannot be read out of its source. */
export async function readOfficialRubrics(folder: string): Promise<OfficialRubrics> {
  const prompts = new Map<string, string>();
  const domains = await listFolder(join(folder, 'prompts'));
  for (const domain of [...domains].sort(inTableOrder)) {
    const file = join(folder, 'prompts', domain, OFFICIAL_PROMPT_FILE);
    // A folder without a judge prompt is not a domain that can be judged; the stage says so if a row asks for it.
    if (await exists(file)) prompts.set(domain, await readText(file));
  }
  if (prompts.size === 0) {
    throw new UserError(
      `${join(folder, 'prompts')} holds no <domain>/${OFFICIAL_PROMPT_FILE}; check the official repository out again in full`,
      EXIT.inputMissing,
    );
  }
  const templateFile = join(folder, OFFICIAL_TEMPLATE_FILE);
  const read = readAssignedString(await readText(templateFile), OFFICIAL_TEMPLATE_NAME);
  if (read.status === 'bad') {
    throw new UserError(
      `${templateFile}: ${read.reason}; use a checkout whose ${OFFICIAL_TEMPLATE_NAME} is one plain string (commit cd0aa83 is)`,
      EXIT.badData,
    );
  }
  return { prompts, userTemplate: read.value, templateFile };
}

// What follows reads one string out of Python source.
// Grammar: docs.python.org/3/reference/lexical_analysis.html, "String and Bytes literals".

type ReadString =
  | { readonly status: 'ok'; readonly value: string }
  | { readonly status: 'bad'; readonly reason: string };

function bad(reason: string): ReadString {
  return { status: 'bad', reason };
}

/**
 * The string that module-level source assigns to a name: one literal or several side by side, in parentheses or not,
 * with any quotes, the prefixes r and u and all escapes but `\N{…}`. Of several assignments the last counts, as in Python.
 */
function readAssignedString(source: string, name: string): ReadString {
  const assignment = new RegExp(`${name}[ \\t]*(?::[^=\\n]*)?(\\+?)=(?!=)`, 'y');
  let found = bad(`no ${name} is assigned at the start of a line`);
  let depth = 0;
  for (let at = 0; at < source.length; ) {
    const startsLine = depth === 0 && (at === 0 || source[at - 1] === '\n');
    const assigned = startsLine ? matchAt(assignment, source, at) : null;
    if (assigned) {
      at += assigned[0].length;
      found = assigned[1] === '+' ? bad(`${name} is put together with +=`) : readStringExpression(source, at, name);
    } else {
      const token = skipToken(source, at);
      depth = Math.max(0, depth + token.depth);
      at = token.end;
    }
  }
  return found;
}

/** The end of a comment, string, word or other character, and by how much it deepens the brackets. */
function skipToken(source: string, at: number): { readonly end: number; readonly depth: number } {
  const literal = findLiteral(source, at);
  if (literal) return { end: literal.end, depth: 0 };
  const skipped = matchAt(/#[^\n]*|[\p{L}\p{N}_]+/uy, source, at);
  if (skipped) return { end: at + skipped[0].length, depth: 0 };
  const char = source.charAt(at);
  return { end: at + 1, depth: '([{'.includes(char) ? 1 : ')]}'.includes(char) ? -1 : 0 };
}

/** Literals side by side, or the same in parentheses, and nothing behind them on the line. */
function readStringExpression(source: string, start: number, name: string): ReadString {
  const opening = matchAt(/(?:[ \t]|\\\n)*\(/y, source, start);
  // Only parentheses let an expression run over several lines.
  const gap = opening ? /(?:\s|\\\n|#[^\n]*)*/y : /(?:[ \t]|\\\n)*/y;
  const behindGap = (at: number) => at + (matchAt(gap, source, at)?.[0].length ?? 0);
  let at = behindGap(start + (opening?.[0].length ?? 0));
  let value: string | undefined;
  for (let literal = findLiteral(source, at); literal; literal = findLiteral(source, at)) {
    const read = readLiteral(literal);
    if (read.status === 'bad') return bad(`${name} has ${read.reason}`);
    value = (value ?? '') + read.value;
    at = behindGap(literal.end);
  }
  if (value === undefined) return bad(`${name} is not a string literal that ends`);
  const closed = opening ? /\)(?:[ \t]|\\\n)*(?=[#;\n]|$)/y : /(?=[#;\n]|$)/y;
  return matchAt(closed, source, at) ? { status: 'ok', value } : bad(`${name} is more than a string literal`);
}

interface Literal {
  readonly prefix: string;
  readonly body: string;
  readonly end: number;
}

function findLiteral(source: string, start: number): Literal | undefined {
  const opening = matchAt(/([a-zA-Z]{0,2})('{3}|"{3}|'|")/y, source, start);
  if (!opening) return undefined;
  const [whole, prefix = '', quote = ''] = opening;
  const bodyStart = start + whole.length;
  // A backslash takes the next character with it in raw strings too.
  for (let at = bodyStart; at < source.length; at += source[at] === '\\' ? 2 : 1) {
    if (source.startsWith(quote, at)) return { prefix, body: source.slice(bodyStart, at), end: at + quote.length };
    if (quote.length === 1 && source[at] === '\n') return undefined;
  }
  return undefined;
}

function readLiteral({ prefix, body }: Literal): ReadString {
  if (/^r$/i.test(prefix)) return { status: 'ok', value: body };
  if (!/^u?$/i.test(prefix)) return bad(`a string with the prefix ${prefix}; only plain strings are read`);
  const value = unescapeLiteral(body);
  return value === undefined ? bad('an escape that is malformed or names its character') : { status: 'ok', value };
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The characters that escapes stand for, or undefined where one is malformed or names its character. */
function unescapeLiteral(body: string): string | undefined {
  let readable = true;
  const value = body.replace(
    /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]))/g,
    (whole, octal?: string, ...rest: (string | undefined)[]) => {
      const hex = rest[0] ?? rest[1] ?? rest[2];
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      if (hex !== undefined) {
        const code = Number.parseInt(hex, 16);
        readable &&= code <= 0x10ffff;
        return code <= 0x10ffff ? String.fromCodePoint(code) : '';
      }
      const char = rest[3] ?? '';
      readable &&= !'xuUN'.includes(char);
      return ESCAPES[char] ?? whole;
    },
  );
  return readable ? value : undefined;
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}
