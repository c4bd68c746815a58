// What is told of a calibration beside its figures, by its manifest.

import { canonicalJson } from '../../json.js';
import type { JudgeVerdict, LimitResult } from '../../judge-limits.js';
import type { CalibrationHeader } from '../../report/calibration/header.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { verdictsOf } from '../verdicts.js';

/** What a manifest does not tell. */
interface Beside {
  /** calibration.jsonl as people are shown it. */
  readonly source: string;
  readonly notes: readonly string[];
  readonly verdict: JudgeVerdict;
  readonly limits: readonly LimitResult[];
}

export function calibrationHeader(manifest: Manifest, { source, notes, verdict, limits }: Beside): CalibrationHeader {
  const made = madeWith(manifest);
  const fingerprint = made.rubricFingerprint === undefined ? '' : ` (${made.rubricFingerprint.slice(0, 12)})`;
  return {
    judge: made.judgeName ?? 'a judge that is not recorded',
    rubricPack: made.rubricPack === undefined ? '' : `${made.rubricPack}${fingerprint}`,
    verdicts: verdictsOf(made) ?? '',
    sampling: fieldsText({ ...made.method, ...made.sampling }),
    source,
    notes,
    verdict,
    limits,
  };
}

/** `temperature 0.6, top_p 0.95`. */
function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : canonicalJson(value)}`)
    .join(', ');
}
