// What the page of a calibration says beside its figures.

import { canonicalJson } from '../../json.js';
import type { CalibrationHeader } from '../../report/page/calibration/head.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { toolVersion } from '../../settings/version.js';
import { verdictsOf } from '../verdicts.js';

/** The head of the page, by the calibration's manifest. */
export function calibrationHeader(manifest: Manifest, warnings: readonly string[]): CalibrationHeader {
  const made = madeWith(manifest);
  const facts: (readonly [string, string | undefined])[] = [
    ['rubrics', made.rubricPack],
    ['fingerprint', made.rubricFingerprint?.slice(0, 12)],
    ['verdicts', verdictsOf(made)],
    ...Object.entries(made.method ?? {}).map(([name, value]) => [name, textOf(value)] as const),
    ...Object.entries(made.sampling ?? {}).map(([name, value]) => [name, textOf(value)] as const),
    ['calibrated', made.startedAt?.slice(0, 10)],
  ];
  return {
    judge: made.judgeName ?? 'a judge that is not recorded',
    facts: facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined),
    warnings,
    tool: `awb ${toolVersion()}`,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}
