// Rubric packs and prompts on disk: the bundled ones, a user's own, and those of an official checkout.

import { createHash } from 'node:crypto';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inTableOrder } from '../domains.js';
import { codeOf, EXIT, nearest, UserError } from '../errors.js';
import { isObject, parseObject } from '../json.js';
import { type RubricPack, readTemplate } from '../rubric.js';

// Seen from src/bench as from dist/bench, the package's root is two folders up.
const BUNDLED_PACK = fileURLToPath(new URL('../../rubrics/awb-1', import.meta.url));
const WORLD_MODEL_PROMPTS = fileURLToPath(new URL('../../prompts/world-model', import.meta.url));

const PACK_FILE = 'pack.json';
const PACK_KEYS = ['name', 'version', 'common', 'domains', 'template'];
const OFFICIAL_TEMPLATE_FILE = join('eval', 'lwm_eval_utils', 'task_configs.py');
const OFFICIAL_TEMPLATE_NAME = 'JUDGE_USER_PROMPT';
const OFFICIAL_PROMPT_FILE = 'judge_system_prompt.txt';

/**
 * Reads the rubric pack in a folder; without a path, the bundled one. The folder is one of two things.
 *
 * **A pack** holds `pack.json` and the plain text files (UTF-8) that it names, all in the same folder:
 *
 *     { "name": "awb-1",               word of letters, digits, dots, dashes, underscores
 *       "version": "1",                text; to be changed with the wording
 *       "common": "common.txt",        optional: stands before every domain's own text
 *       "domains": { "mcp": "mcp.txt", … },
 *       "template": "user.txt" }       the user message, with the slots that src/rubric.ts lists
 *
 * A domain's system prompt is the common text, a blank line and the domain's text. It has to explain the delimiters with
 * which src/judge/rubric.ts fills the slots; rubrics/awb-1/common.txt shows how.
 *
 * **A checkout of the official repository** (QwenLM/Qwen-AgentWorld) holds `prompts/<domain>/judge_system_prompt.txt`, each
 * used as Python reads it, and `eval/lwm_eval_utils/task_configs.py`, whose string JUDGE_USER_PROMPT is the user template.
 *
 * Throws a UserError, with the file and the remedy, when something is missing (66) or not as described (65).
 */
export async function loadRubricPack(path: string | undefined): Promise<RubricPack> {
  const folder = path ?? BUNDLED_PACK;
  const entries = await listFolder(folder);
  if (entries.includes(PACK_FILE)) return loadPack(folder);
  if (entries.includes('prompts') && entries.includes('eval')) return loadOfficial(folder);
  throw new UserError(
    `${folder} is no rubric pack: it has neither ${PACK_FILE} nor the folders eval and prompts of an official checkout; leave --rubrics out to use the bundled pack`,
    EXIT.inputMissing,
  );
}

/** The bundled system prompts that turn a language model into an environment: prompts/world-model/<domain>.txt. */
export interface WorldModelPrompts {
  /** SHA-256 in hex over the domains' names and prompts. */
  readonly fingerprint: string;
  prompt(domain: string): string | undefined;
}

/** Reads the bundled world-model prompts. Throws a UserError when they are not where the package keeps them. */
export async function loadWorldModelPrompts(): Promise<WorldModelPrompts> {
  const files = (await listFolder(WORLD_MODEL_PROMPTS)).filter((file) => file.endsWith('.txt')).sort();
  const prompts = new Map<string, string>();
  for (const file of files) {
    prompts.set(file.slice(0, -'.txt'.length), (await readText(join(WORLD_MODEL_PROMPTS, file))).trim());
  }
  return { fingerprint: fingerprintOf([...prompts]), prompt: (domain) => prompts.get(domain) };
}

interface PackFile {
  readonly name: string;
  readonly version: string;
  readonly common?: string;
  readonly domains: Readonly<Record<string, string>>;
  readonly template: string;
}

async function loadPack(folder: string): Promise<RubricPack> {
  const pack = readPackFile(await readText(join(folder, PACK_FILE)), join(folder, PACK_FILE));
  const common = pack.common === undefined ? [] : [await readText(join(folder, pack.common))];
  const prompts = new Map<string, string>();
  for (const [domain, file] of Object.entries(pack.domains)) {
    const texts = [...common, await readText(join(folder, file))];
    prompts.set(domain, texts.map((text) => text.trim()).join('\n\n'));
  }
  const userTemplate = await readText(join(folder, pack.template));
  return assemblePack({ ...pack, official: false, prompts, userTemplate, templateFile: join(folder, pack.template) });
}

async function loadOfficial(folder: string): Promise<RubricPack> {
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
  return assemblePack({
    name: 'official',
    version: '',
    official: true,
    prompts,
    userTemplate: read.value,
    templateFile,
  });
}

interface PackContents {
  readonly name: string;
  readonly version: string;
  readonly official: boolean;
  readonly prompts: ReadonlyMap<string, string>;
  readonly userTemplate: string;
  readonly templateFile: string;
}

function assemblePack(contents: PackContents): RubricPack {
  const { name, version, official, prompts, userTemplate, templateFile } = contents;
  const template = readTemplate(userTemplate);
  if (template.status === 'bad') {
    throw new UserError(`the user template in ${templateFile} has ${template.reason}; mend that file`, EXIT.badData);
  }
  return {
    name,
    fingerprint: fingerprintOf([name, version, official, [...prompts], userTemplate]),
    official,
    domains: [...prompts.keys()],
    systemPrompt: (domain) => prompts.get(domain),
    userTemplate,
  };
}

function readPackFile(text: string, file: string): PackFile {
  const wrong = (what: string) => new UserError(`${file}: ${what}`, EXIT.badData);
  const pack = parseObject(text);
  if (pack === undefined) throw wrong(`not a JSON object; it needs ${PACK_KEYS.join(', ')}`);
  for (const key of Object.keys(pack)) {
    if (PACK_KEYS.includes(key)) continue;
    const near = nearest(key, PACK_KEYS);
    throw wrong(`unknown key "${key}"${near ? `; did you mean "${near}"?` : `; the keys are ${PACK_KEYS.join(', ')}`}`);
  }
  if (typeof pack.name !== 'string' || !/^\w[\w.-]*$/.test(pack.name)) {
    throw wrong('"name" has to be a word of letters, digits, dots, dashes and underscores');
  }
  if (typeof pack.version !== 'string') throw wrong('"version" has to be a text, such as "1"');
  if (!isObject(pack.domains) || Object.keys(pack.domains).length === 0) {
    throw wrong('"domains" has to name a file for each domain, such as { "mcp": "mcp.txt" }');
  }
  const { template, common } = pack;
  const files = Object.entries(common === undefined ? { template } : { template, common });
  for (const [key, value] of [...files, ...Object.entries(pack.domains)]) {
    // What a pack names is sent to a judge, so it must not reach for files outside its folder.
    if (typeof value !== 'string' || !/^[^/\\]+$/.test(value) || /^\.+$/.test(value)) {
      throw wrong(`"${key}" has to name a file beside ${PACK_FILE}, such as "${key}.txt"`);
    }
  }
  return pack as unknown as PackFile;
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    throw new UserError(
      `cannot read the folder ${folder} (${codeOf(error)}); check the path of --rubrics, or install the package again if it is the package's own`,
      EXIT.inputMissing,
    );
  }
}

/** The text as Python's text mode reads it: UTF-8, a byte order mark kept, every line end a newline. Never blank. */
async function readText(file: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw new UserError(
      `cannot read ${file} (${codeOf(error)}); put it back, or point to a complete folder`,
      EXIT.inputMissing,
    );
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UserError(`${file} is not UTF-8; save it as UTF-8`, EXIT.badData);
  }
  if (text.trim() === '')
    throw new UserError(`${file} is empty; write its text or take it from the source`, EXIT.badData);
  return text.replace(/\r\n?/g, '\n');
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR',
  );
}

function fingerprintOf(contents: unknown): string {
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex');
}

// Reading one string out of Python source.
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
  const char = source[at] as string;
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
  const [whole, prefix, quote] = opening as unknown as [string, string, string];
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
      const char = rest[3] as string;
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
