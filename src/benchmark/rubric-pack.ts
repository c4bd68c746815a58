// Rubric packs on disk: the bundled one, a user's own, and the rubrics of an official checkout.

import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { inTableOrder } from '../core/domains.js';
import { badData, inputMissing } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { type RubricPack, readTemplate } from '../core/rubric.js';
import { faultsOf, mapping } from '../core/schema.js';
import { exists, fingerprintOf, listFolder, readText } from './prompts.js';

/** The bundled pack. */
export const BUNDLED_PACK = 'awb-3';
/** The name for the official repository's rubrics. */
const OFFICIAL = 'official';

const PACK_FILE = 'pack.json';

/**
 * Reads the rubric pack with that name or in that folder; by default, the bundled one. The names `awb-3` and `official` win over a
 * folder of the same name, which `./NAME` reaches. The folder is one of two kinds.
 *
 * **A pack** has `pack.json` and the plain text files (UTF-8) that it names, all in the same folder:
 *
 *     { "name": "awb-3",               word of letters, digits, dots, dashes, underscores
 *       "version": "1",                text; change it with the wording
 *       "common": "common.txt",        optional: precedes every domain's own text
 *       "domains": { "mcp": "mcp.txt", … },
 *       "template": "user.txt",        the user message, with the slots that src/core/rubric.ts lists
 *       "facts": true,                 optional: the judge is asked for a checklist of facts (src/core/facts.ts)
 *       "without_truth": { "common": "alone.txt", "template": "alone-user.txt" } }
 *                                      optional: these two replace the pack's own if a rollout is judged by itself
 *
 * A domain's system prompt is the common text, a blank line and the domain's text. It has to explain the delimiters that
 * src/judge/rubric.ts puts around the slots' contents; rubrics/awb-3/common.txt shows how.
 *
 * **A checkout of the official repository** (QwenLM/Qwen-AgentWorld) has `prompts/<domain>/judge_system_prompt.txt`, each
 * used as Python reads it, and `eval/lwm_eval_utils/task_configs.py`, whose string JUDGE_USER_PROMPT is the user template.
 *
 * Throws a UserError with the file and the remedy if something is missing (66) or not as described (65).
 */
export async function loadRubricPack(
  given: string = BUNDLED_PACK,
  { cwd = '', official }: { readonly cwd?: string; official?(): Promise<string> } = {},
): Promise<RubricPack> {
  if (given === BUNDLED_PACK) return loadPack(BUNDLED_FOLDER);
  const folder = given === OFFICIAL && official !== undefined ? await official() : resolve(cwd, given);
  const entries = await listFolder(folder);
  if (entries.includes(PACK_FILE)) return loadPack(folder);
  if (entries.includes('prompts') && entries.includes('eval')) {
    return assemblePack({ name: OFFICIAL, version: '', official: true, ...(await readOfficialRubrics(folder)) });
  }
  throw inputMissing(
    `${folder} is not a rubric pack: it has neither ${PACK_FILE} nor the folders eval and prompts of an official checkout; leave --rubrics out to use the bundled pack`,
  );
}

/** Both from src/benchmark and from dist/benchmark, the package's root is two folders up. */
const BUNDLED_FOLDER = fileURLToPath(new URL(`../../rubrics/${BUNDLED_PACK}`, import.meta.url));

/** The files named by a pack are sent to a judge, so they must not be outside its folder. */
const file = z.string().regex(/^(?!\.+$)[^/\\]+$/, `has to name a file next to ${PACK_FILE}`);

export const PACK = mapping('a rubric pack', {
  name: z.string().regex(/^\w[\w.-]*$/, 'has to be a word of letters, digits, dots, dashes and underscores'),
  version: z.string(),
  common: file.optional(),
  domains: z.record(z.string(), file).refine((named) => Object.keys(named).length > 0, 'has to name a file for each'),
  template: file,
  facts: z.boolean().optional(),
  without_truth: z.object({ template: file, common: file.optional() }).optional(),
});
async function loadPack(folder: string): Promise<RubricPack> {
  const file = join(folder, PACK_FILE);
  const { data, error } = PACK.safeParse(parseJson(await readText(file)));
  if (error) {
    const faults = faultsOf(error).map(({ path, text }) => (path.length === 0 ? text : `"${path.join('.')}": ${text}`));
    throw badData(`${file}: ${faults.join('; ')}`);
  }
  const { without_truth: alone, ...pack } = data;
  const whole = await assembledFrom(folder, pack);
  if (alone === undefined) return whole;
  const { name, version, domains } = pack;
  return { ...whole, withoutTruth: await assembledFrom(folder, { name, version, domains, ...alone }, true) };
}

async function assembledFrom(folder: string, pack: z.infer<typeof PACK>, hidesTruth?: true): Promise<RubricPack> {
  const { name, version, facts } = pack;
  const common = pack.common === undefined ? [] : [await readText(join(folder, pack.common))];
  const prompts = new Map<string, string>();
  for (const [domain, name] of Object.entries(pack.domains)) {
    const texts = [...common, await readText(join(folder, name))];
    prompts.set(domain, texts.map((text) => text.trim()).join('\n\n'));
  }
  const templateFile = join(folder, pack.template);
  const userTemplate = await readText(templateFile);
  const kind = { official: false, facts: facts || undefined, hidesTruth };
  return assemblePack({ name, version, ...kind, prompts, userTemplate, templateFile });
}

interface PackContents extends Pick<RubricPack, 'name' | 'official' | 'userTemplate' | 'facts' | 'hidesTruth'> {
  readonly version: string;
  readonly prompts: ReadonlyMap<string, string>;
  readonly templateFile: string;
}

function assemblePack({ version, prompts, templateFile, ...pack }: PackContents): RubricPack {
  const { name, official, userTemplate, facts, hidesTruth } = pack;
  const template = readTemplate(userTemplate, hidesTruth);
  if (typeof template === 'string')
    throw badData(`the user template in ${templateFile} has ${template}; fix that file`);
  return {
    ...pack,
    // A pack without a checklist keeps the fingerprint that it had before checklists existed.
    fingerprint: fingerprintOf([
      ...[name, version, official, [...prompts], userTemplate],
      ...(facts ? [{ facts }] : []),
      ...(hidesTruth ? [{ hidesTruth }] : []),
    ]),
    domains: [...prompts.keys()],
    systemPrompt: (domain) => prompts.get(domain),
  };
}

// The rubrics of an official checkout: its judge prompts, and the user template in its Python source.

const OFFICIAL_TEMPLATE_FILE = join('eval', 'lwm_eval_utils', 'task_configs.py');
const OFFICIAL_TEMPLATE_NAME = 'JUDGE_USER_PROMPT';
const OFFICIAL_PROMPT_FILE = 'judge_system_prompt.txt';

/** @throws UserError 66 if a file is missing, 65 if the template cannot be read from its source. */
async function readOfficialRubrics(folder: string) {
  const prompts = new Map<string, string>();
  const domains = await listFolder(join(folder, 'prompts'));
  for (const domain of [...domains].sort(inTableOrder)) {
    const file = join(folder, 'prompts', domain, OFFICIAL_PROMPT_FILE);
    // A folder without a judge prompt is not a domain that can be judged; the stage reports that if a row asks for it.
    if (await exists(file)) prompts.set(domain, await readText(file));
  }
  const templateFile = join(folder, OFFICIAL_TEMPLATE_FILE);
  const userTemplate = assignedString(await readText(templateFile), OFFICIAL_TEMPLATE_NAME);
  if (userTemplate === undefined) {
    throw badData(
      `${templateFile}: ${OFFICIAL_TEMPLATE_NAME} has to be assigned once, as a single string literal whose escapes can be read; use a checkout of commit cd0aa83`,
    );
  }
  return { prompts, userTemplate, templateFile };
}

/** The string literal that module-level source assigns to a name: raw, or with only plain escapes. */
function assignedString(source: string, name: string): string | undefined {
  const body = '((?:\\\\[\\s\\S]|(?!\\2)[^\\\\])*)';
  const assignment = `^${name}[ \\t]*(?::[^=\\n]*)?=[ \\t]*(r?)("""|'''|["'])${body}\\2[ \\t]*(?:#.*)?$`;
  const [, raw, , text] = new RegExp(assignment, 'm').exec(source.replaceAll('\r\n', '\n')) ?? [];
  if (text === undefined || raw === 'r') return text;
  const isPlain = (text.match(/\\[\s\S]/g) ?? []).every((written) => written in ESCAPES);
  return isPlain ? text.replace(/\\[\s\S]/g, (written) => ESCAPES[written] ?? written) : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\\n': '',
  '\\\\': '\\',
  "\\'": "'",
  '\\"': '"',
  '\\n': '\n',
  '\\t': '\t',
};
