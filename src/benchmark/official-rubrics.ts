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
      `${templateFile}: ${read.reason}; use a checkout whose ${OFFICIAL_TEMPLATE_NAME} is one plain string (that of commit cd0aa83 is)`,
      EXIT.badData,
    );
  }
  return { prompts, userTemplate: read.value, templateFile };
}

type ReadString =
  | { readonly status: 'ok'; readonly value: string }
  | { readonly status: 'bad'; readonly reason: string };

/**
 * The string that module-level source assigns to a name: one literal with any quotes, raw or with all escapes but `\N{…}`.
 * Grammar: docs.python.org/3/reference/lexical_analysis.html, "String and Bytes literals".
 */
function readAssignedString(source: string, name: string): ReadString {
  const text = source.replaceAll('\r\n', '\n');
  const assigned = text.match(new RegExp(`^${name}[ \\t]*(?::[^=\\n]*)?\\+?=(?!=)`, 'gm'))?.length ?? 0;
  if (assigned !== 1) return { status: 'bad', reason: `${name} is assigned ${assigned} times at the start of a line` };
  const [, prefix = '', , long, , short] = literalOf(name).exec(text) ?? [];
  const body = long ?? short;
  const value = body === undefined || /^r$/i.test(prefix) ? body : unescapeLiteral(body);
  if (value === undefined || !/^[ru]?$/i.test(prefix)) {
    return { status: 'bad', reason: `${name} is not a single string literal whose escapes can be read` };
  }
  return { status: 'ok', value };
}

/** A backslash takes the next character with it, in raw strings too. */
function literalOf(name: string): RegExp {
  const long = String.raw`("""|''')((?:\\[\s\S]|(?!\2)[^\\])*)\2`;
  const short = String.raw`("|')((?:\\[\s\S]|(?!\4)[^\\\n])*)\4`;
  return new RegExp(`^${name}[ \\t]*(?::[^=\\n]*)?=[ \\t]*([a-zA-Z]*)(?:${long}|${short})[ \\t]*(?:#.*)?$`, 'm');
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
