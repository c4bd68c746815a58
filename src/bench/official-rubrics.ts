// The rubrics of an official checkout: its judge prompts, and the user template in its Python source.

import { join } from 'node:path';
import { inTableOrder } from '../domains.js';
import { EXIT, UserError } from '../errors.js';
import { exists, listFolder, readText } from './prompt-files.js';
import { readAssignedString } from './python-string.js';

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
