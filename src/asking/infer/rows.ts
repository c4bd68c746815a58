// The rows that infer takes: which of them can be used, and which were chosen.

import type { BadRow, Dataset, RowRef } from '../../bench/dataset.js';
import type { Choice } from '../../bench/selection.js';
import { EXIT, nearest, UserError } from '../../errors.js';
import { counted } from '../../figures.js';
import { printable } from '../../printable.js';
import { DOMAINS, type Io } from '../../types.js';
import type { SystemPrompts } from '../system-prompts.js';
import type { InferSettings } from './options.js';

const BAD_ROWS_SHOWN = 20;

/**
 * Lists the unusable rows, before anything is asked.
 * @throws UserError (65) with that list, unless they are to be skipped and others are left.
 */
export function requireUsable(
  dataset: Dataset,
  settings: Pick<InferSettings, 'skipInvalid' | 'dataDir' | 'quiet'>,
  io: Io,
): void {
  const { bad, rows } = dataset;
  if (bad.length === 0) return;
  const list = bad.slice(0, BAD_ROWS_SHOWN).map((row) => `  ${printable(`${row.file}:${row.line}: ${row.reason}`)}`);
  if (bad.length > list.length) list.push(`  ... and ${bad.length - list.length} more`);
  const count = `${bad.length} of ${counted(bad.length + rows.length, 'row')} in ${settings.dataDir}`;
  if (settings.skipInvalid && rows.length > 0) {
    if (!settings.quiet)
      io.stderr.write(`${count} cannot be used and ${bad.length === 1 ? 'is' : 'are'} left out:\n${list.join('\n')}\n`);
    return;
  }
  const remedy =
    rows.length === 0
      ? 'No usable row is left: mend the files, or name another folder with --data-dir.'
      : 'Mend the files, or leave these rows out with --skip-invalid (they then count against coverage).';
  throw new UserError([`${count} cannot be used; nothing was asked:`, ...list, remedy].join('\n'), EXIT.badData);
}

/** @throws UserError (65) for a chosen row of a domain that there is no system prompt for. */
export function requirePrompts(prompts: SystemPrompts, chosen: readonly RowRef[], { files }: Dataset): void {
  for (const { domain, file, line } of chosen) {
    const refusal = prompts.refusal(domain);
    if (refusal !== undefined) throw new UserError(`${files[file]}:${line}: ${refusal}`, EXIT.badData);
  }
}

/** Unusable rows, by domain. */
export function invalidByDomain(
  bad: readonly BadRow[],
  settings: Pick<InferSettings, 'domains'>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of bad) {
    const domain = row.domain ?? 'unknown';
    if (row.domain !== undefined && settings.domains.length > 0 && !settings.domains.includes(row.domain)) continue;
    counts[domain] = (counts[domain] ?? 0) + 1;
  }
  return counts;
}

/**
 * Which of the usable rows the flags choose.
 * @throws UserError (2) for a domain that neither the benchmark nor the data has.
 */
export function choiceOf(
  settings: Pick<InferSettings, 'domains' | 'shard' | 'sampleSeed'> &
    Partial<Pick<InferSettings, 'ids' | 'limit' | 'sample'>>,
  dataset: Dataset,
): Choice {
  const known = [...new Set([...DOMAINS, ...dataset.rows.map(({ domain }) => domain)])];
  const unknown = settings.domains.find((domain) => !known.includes(domain));
  if (unknown !== undefined) {
    const near = nearest(unknown, known);
    const advice = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
    throw new UserError(`--domains: unknown domain "${unknown}"; ${advice}`);
  }
  const [index = 1, of = 1] = (settings.shard ?? '').split('/').map(Number);
  return {
    sampleSeed: settings.sampleSeed,
    ...(settings.domains.length > 0 ? { domains: settings.domains } : {}),
    ...(settings.ids !== undefined && settings.ids.length > 0 ? { ids: settings.ids } : {}),
    ...(settings.limit === undefined ? {} : { limit: settings.limit }),
    ...(settings.sample === undefined ? {} : { sample: settings.sample }),
    ...(settings.shard === undefined ? {} : { shard: { index, of } }),
  };
}
