// By what names a run is known outside of its folder.

import type { RunNames } from '../../report/export/rows-csv.js';
import { fingerprintOf } from '../../run/identity.js';
import type { ReadRun } from '../read-run.js';

/**
 * A run's label, and an id that it keeps however often it is continued or scored: two runs of one identity that were begun at different
 * times are two. A file without a manifest is known by its bytes.
 */
export function namesOf({ made, manifest, sha256 }: Pick<ReadRun, 'made' | 'manifest' | 'sha256'>): RunNames {
  const { fingerprint, startedAt } = manifest ?? {};
  const id = fingerprint === undefined ? sha256 : fingerprintOf({ fingerprint, startedAt });
  return { label: made.label, id: id.slice(0, 32) };
}
