// Scenario suites on disk: the bundled one, and those of a user's own, which are checked whole before anything is asked.

import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fingerprintOf, listFolder, readText } from '../../benchmark/prompts.js';
import { codeOf, EXIT, nearest, UserError } from '../../core/errors.js';
import { canonicalJson } from '../../core/json.js';
import { DOMAINS, type Domain } from '../../core/types.js';
import { SCENARIOS_VERSION, type Scenario, type ScenarioSuite } from './scenario.js';

export const BUNDLED_SUITES = ['standard'] as const;

const YAML_FILE = /\.ya?ml$/;
/** Of a suite in which everything is wrong, the first faults are enough. */
const MOST_FAULTS = 20;
/** A device has no end, and YAML of many keys takes minutes. */
const MOST_BYTES = 1_000_000;

/**
 * Reads the suite of that name, in that folder (all of its YAML files) or in that file. A bundled suite's name comes before a folder
 * of the same name, which `./NAME` reaches. docs/scenarios.md describes the format.
 * @param domains that the user's own prompts or rubrics know beside the seven
 * @throws UserError: 66 where there is none, 65 with every fault by file and line
 */
export async function loadScenarioSuite(
  given: string,
  { cwd, domains = [] }: { readonly cwd: string; readonly domains?: readonly Domain[] },
): Promise<ScenarioSuite> {
  const { name, files } = await filesOf(given, cwd);
  // Loaded when there is a suite: the library of its schema takes a while.
  const { readSuiteFile } = await import('./suite-file.js');
  const known = [...new Set([...DOMAINS, ...domains])];
  const scenarios: Scenario[] = [];
  const faults: string[] = [];
  const places = new Map<string, string>();
  for (const { path, shown } of files) {
    const file = await readSuiteFile(await readText(path), shown, known);
    faults.push(...file.faults);
    for (const { scenario, line } of file.scenarios) {
      const before = places.get(scenario.name);
      if (before === undefined) places.set(scenario.name, `${shown}:${line}`);
      else faults.push(`${shown}:${line}: the name "${scenario.name}" stands at ${before} already; choose another`);
      scenarios.push(scenario);
    }
  }
  if (faults.length > 0) throw new UserError(complaint(given, faults), EXIT.badData);
  return { name, fingerprint: fingerprintOf([SCENARIOS_VERSION, canonicalJson(scenarios)]), scenarios };
}

function complaint(given: string, faults: readonly string[]): string {
  const rest = faults.length - MOST_FAULTS;
  return [
    `the scenario suite ${given} cannot be used:`,
    ...faults.slice(0, MOST_FAULTS),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ].join('\n');
}

/** The suite's name, and its files; `shown` is the path as messages name it: as the user gave it. */
async function filesOf(given: string, cwd: string) {
  const bundled = BUNDLED_SUITES.find((name) => name === given);
  const path = bundled === undefined ? resolve(cwd, given) : bundledFolder(bundled);
  const found = await statOf(path);
  if (found === undefined) throw unknownSuite(given);
  const name = basename(path).replace(YAML_FILE, '');
  if (!found.isDirectory()) {
    if (found.isFile() && found.size <= MOST_BYTES) return { name, files: [{ path, shown: given }] };
    throw new UserError(`${given} is no file of scenarios: it is no plain file, or larger than 1 MB`, EXIT.badData);
  }
  const files = (await listFolder(path)).filter((file) => YAML_FILE.test(file)).sort();
  if (files.length > 0)
    return { name, files: files.map((file) => ({ path: join(path, file), shown: join(given, file) })) };
  throw new UserError(`the folder ${given} holds no YAML file; a suite is one or more of them`, EXIT.inputMissing);
}

/** Seen from src as from dist, the package's root is three folders up. */
function bundledFolder(name: string): string {
  return fileURLToPath(new URL(`../../../scenarios/${name}`, import.meta.url));
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new UserError(`cannot read the scenario suite ${path} (${codeOf(error) ?? error})`, EXIT.inputMissing);
  }
}

function unknownSuite(given: string): UserError {
  const near = /[/\\]/.test(given) ? undefined : nearest(given, BUNDLED_SUITES);
  return new UserError(
    `there is no scenario suite "${given}": the bundled ones are ${BUNDLED_SUITES.join(', ')}${near === undefined ? '' : ` (did you mean ${near}?)`}, and there is no file or folder of that name; name one of them`,
    EXIT.inputMissing,
  );
}
