// Why rows moved between two runs, as their judges said.

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readJudged } from '../benchmark/judged.js';
import type { JsonObject } from '../core/json.js';
import { isModelCaused } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import type { Io, JudgedRow } from '../core/types.js';
import type { Pair, ReadRun } from './read-run.js';

/** What was wrong with the worse side of rows that moved, by key: what is wrong now with rows that fell, what was wrong before with rows that rose. */
export async function reasonsFor(
  { base, candidate }: Pair,
  moved: readonly { readonly key: string; readonly difference: number }[],
  io: Io,
): Promise<{ weaknesses: ReadonlyMap<string, string>; notes: string[] }> {
  const keys = (fell: boolean) => moved.filter(({ difference }) => difference < 0 === fell).map(({ key }) => key);
  const before = await weaknessesOf(base, keys(false), io);
  const now = await weaknessesOf(candidate, keys(true), io);
  const reasons = [before.why, now.why].filter((why) => why !== undefined);
  return {
    weaknesses: new Map([
      ...[...before.byKey].map(([key, said]) => [key, `before: ${said}`] as const),
      ...[...now.byKey].map(([key, said]) => [key, `now: ${said}`] as const),
    ]),
    notes: reasons.map((why) => `Without what the judge said of the rows that moved: ${why}.`),
  };
}

/**
 * What was wrong with rows, as their judge said: the first weakness of the worst repeat of each, or why it failed, by key.
 * Empty, with the reason, where the judged file is gone or was changed since.
 */
async function weaknessesOf(
  run: ReadRun,
  keys: readonly string[],
  io: Io,
): Promise<{ readonly byKey: ReadonlyMap<string, string>; readonly why?: string }> {
  const byKey = new Map<string, string>();
  if (keys.length === 0) return { byKey };
  const name = join(basename(dirname(run.source)), basename(run.source));
  if (!existsSync(run.source)) return { byKey, why: `${name} is not there any more` };
  const said = new Map<string, string>();
  const file = await readJudged(run.source, io.stop, ({ key, repeat, index }, fields) => {
    const weakness = keys.includes(key) ? weaknessIn(fields) : undefined;
    if (weakness !== undefined) said.set(rowId(key, repeat, index), weakness);
  });
  if (file.sha256 !== run.sha256) return { byKey, why: `${name} has changed since it was scored` };
  const worst = new Map<string, JudgedRow>();
  for (const row of file.rows) {
    const before = worst.get(row.key);
    // A row that counts for nothing needs no reason.
    if (row.failure !== undefined && !isModelCaused(row.failure.class)) continue;
    if (keys.includes(row.key) && (before === undefined || row.total < before.total)) worst.set(row.key, row);
  }
  for (const { key, repeat, index, failure } of worst.values()) {
    const why = failure ? `${failure.class}: ${failure.reason}` : said.get(rowId(key, repeat, index));
    if (why !== undefined) byKey.set(key, oneLine(why, 400));
  }
  return { byKey };
}

/** The official script writes whatever the judge gave: a list, a text, or something else. */
function weaknessIn({ weaknesses }: JsonObject): string | undefined {
  return [weaknesses].flat().find((one): one is string => typeof one === 'string' && one.trim() !== '');
}
