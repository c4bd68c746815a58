// The suite that the user names, with domains of the user's own where there are prompts for them.

import { resolve } from 'node:path';
import type { InferSettings } from '../../asking/infer/options.js';
import { listFolder } from '../../bench/prompts.js';
import type { Io } from '../../types.js';
import type { ScenarioSuite } from './scenario.js';
import { loadScenarioSuite } from './suite.js';

const PROMPT = /\.txt$/;

/** @throws UserError: 66 where there is no such suite or folder of prompts, 65 with every fault of the suite by file and line */
export async function openSuite(
  name: string,
  { domainPrompts }: Pick<InferSettings, 'domainPrompts'>,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<ScenarioSuite> {
  const files = domainPrompts === undefined ? [] : await listFolder(resolve(cwd, domainPrompts));
  const domains = files.filter((file) => PROMPT.test(file)).map((file) => file.replace(PROMPT, ''));
  return loadScenarioSuite(name, { cwd, domains });
}
