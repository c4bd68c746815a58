// How a command is told which runs it works on.

import { IDENTITIES, type Identity } from '../decision.js';
import type { OptionTable } from '../settings/options.js';
import { DEFAULT_DB } from './databases.js';

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
    check: (text) => (identitiesIn([text]).length > 0 ? undefined : `any of ${IDENTITIES.join(', ')}`),
    help: `what the runs need not share: ${IDENTITIES.join(', ')}`,
  },
} as const satisfies OptionTable;

/** The identities among the values of `--allow-different`. */
export function identitiesIn(given: readonly string[]): Identity[] {
  return IDENTITIES.filter((name) => given.includes(name));
}
