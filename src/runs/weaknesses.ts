// Why rows moved between two runs, as their judges said.

import { createReadStream, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readJudged } from '../bench/judged.js';
import { parseObject } from '../json.js';
import { splitLines } from '../lines.js';
import { isModelCaused } from '../points.js';
import { oneLine } from '../printable.js';
import type { Io, JudgedRow } from '../types.js';
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
  const file = await readJudged(run.source, io.stop);
  if (file.sha256 !== run.sha256) return { byKey, why: `${name} has changed since it was scored` };
  const worst = new Map<string, JudgedRow>();
  for (const row of file.rows) {
    const before = worst.get(row.key);
    // A row that counts for nothing needs no reason.
    if (row.failure !== undefined && !isModelCaused(row.failure.class)) continue;
    if (keys.includes(row.key) && (before === undefined || row.total < before.total)) worst.set(row.key, row);
  }
  let place = 0;
  // Rows stand in the order of the file's lines.
  for await (const line of splitLines(createReadStream(run.source, { highWaterMark: 1 << 20 }))) {
    const row = file.rows[place++];
    if (row === undefined || worst.get(row.key) !== row) continue;
    const said = row.failure
      ? `${row.failure.class}: ${row.failure.reason}`
      : weaknessIn(Buffer.from(line.bytes).toString());
    if (said !== undefined) byKey.set(row.key, oneLine(said, 400));
  }
  return { byKey };
}

/** The official script writes whatever the judge gave: a list, a text, or something else. */
function weaknessIn(text: string): string | undefined {
  return [parseObject(text)?.weaknesses]
    .flat()
    .find((one): one is string => typeof one === 'string' && one.trim() !== '');
}
