// How a command is told which runs it works on.

import { PROVENANCE, type Provenance } from '../decision.js';
import type { OptionSpec, OptionTable } from '../settings/options.js';
import { DEFAULT_DB } from './databases.js';

/** The option of a command that takes one judged run, stored or not. */
export const JUDGED_RUN = {
  kind: 'text',
  namesRun: true,
  value: 'RUN',
  required: true,
  help: 'a judged file, its folder, or a run in --db by its label or number',
} as const satisfies OptionSpec;

/** The options of every command that takes runs by name. */
export const RUN_OPTIONS = {
  db: {
    kind: 'list',
    value: 'FILE',
    default: [DEFAULT_DB],
    group: 'Runs',
    help: 'SQLite files of awb score, for runs named by label or number',
  },
  'allow-different': {
    kind: 'list',
    value: 'A,B',
    group: 'Runs',
    check: (text) => (provenanceIn([text]).length > 0 ? undefined : `any of ${PROVENANCE.join(', ')}`),
    help: `what the runs need not share: ${PROVENANCE.join(', ')}`,
  },
} as const satisfies OptionTable;

/** What of their provenance two runs need not share, by the values of `--allow-different`. */
export function provenanceIn(given: readonly string[]): Provenance[] {
  return PROVENANCE.filter((name) => given.includes(name));
}
