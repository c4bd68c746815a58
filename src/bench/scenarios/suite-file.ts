// One file of a suite: scenarios at rows, and a fictional world.

import { EXIT } from '../../errors.js';
import type { Domain } from '../../types.js';
import { parseYaml } from '../../yaml-file.js';
import { FieldReader } from './fields.js';
import { type Placed, readDomains, readScenario } from './scenario.js';
import { readWording, type Wording } from './wording.js';
import { readWorld } from './world.js';

const FILE_KEYS = ['domains', 'framing', 'never', 'scenarios', 'world'];

interface SuiteFile {
  readonly scenarios: readonly Placed[];
  /** Each as `file:line: what; remedy`, in the order of the lines. */
  readonly faults: readonly string[];
}

/**
 * The scenarios of a file, and what is wrong in it.
 * @param path as messages name it
 * @throws UserError (65), with its line, for a text that is not YAML
 */
export async function readSuiteFile(
  text: string,
  path: string,
  known: readonly Domain[],
  bundled: Wording,
): Promise<SuiteFile> {
  const reader = new FieldReader(path, await parseYaml(text, path, EXIT.badData));
  const scenarios: Placed[] = [];
  const fields = reader.fields(reader.root(), 'a suite', FILE_KEYS);
  if (fields !== undefined) {
    const given = fields.get('domains');
    const defaults = {
      domains: given && readDomains(reader, given, known),
      known,
      wording: readWording(reader, fields, bundled),
    };
    const [list, world] = [fields.get('scenarios'), fields.get('world')];
    for (const item of list === undefined ? [] : (reader.items(list, '"scenarios"') ?? [])) {
      const scenario = readScenario(reader, item, defaults);
      if (scenario !== undefined) scenarios.push({ scenario, line: item.line });
    }
    if (world !== undefined) scenarios.push(...readWorld(reader, world, defaults));
    if (list === undefined && world === undefined) {
      reader.fault(1, 'the file has neither "scenarios" nor "world"; write one of them');
    }
  }
  return {
    scenarios,
    faults: reader.faults.toSorted((a, b) => a.line - b.line).map(({ text }) => text),
  };
}
