// The texts of judged runs, open for reading by record id.

import { resolve } from 'node:path';
import { openDataset } from '../../bench/dataset.js';
import { openJudgedTexts, type RowTexts } from '../../bench/report-rows.js';
import { rowId } from '../../row-id.js';
import type { Io } from '../../types.js';
import type { ReadRun } from '../read-run.js';

/** A run with its texts by record id; undefined for a row that the file no longer holds. */
export type RunWithTexts = ReadRun & { read(id: string): Promise<RowTexts | undefined> };

/**
 * Does something with the texts of one or two runs open.
 * @param dataDir folder of the data, which lean rows need
 * @throws UserError: 66 for a file that is not there, 65 for a lean row without its data.
 */
export async function withTexts<T>(
  run: ReadRun,
  other: ReadRun | undefined,
  dataDir: string | undefined,
  io: Io,
  action: (run: RunWithTexts, other: RunWithTexts | undefined) => Promise<T>,
): Promise<T> {
  const opened: { close(): Promise<void> }[] = [];
  try {
    const data = dataDir === undefined ? undefined : await openDataset(resolve(io.cwd, dataDir), io.stop);
    if (data !== undefined) opened.push(data);
    const withItsTexts = async (each: ReadRun): Promise<RunWithTexts> => {
      const file = await openJudgedTexts(each.source, data, io.stop);
      opened.push(file);
      const refs = new Map(Array.from(file.refs, (ref) => [rowId(ref.key, ref.repeat, ref.index), ref]));
      const read = async (id: string) => {
        const ref = refs.get(id);
        return ref === undefined ? undefined : file.read(ref);
      };
      return { ...each, read };
    };
    return await action(await withItsTexts(run), other && (await withItsTexts(other)));
  } finally {
    for (const each of opened) await each.close();
  }
}
