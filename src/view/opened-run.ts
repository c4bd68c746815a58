// The viewer's documents of a run that was read: its page, its samples, their texts. Each is made on demand.

import type { RowSpent } from '../core/costs.js';
import { inputMissing } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { readSpent } from '../results/costs.js';
import type { ReadRun } from '../results/read-run.js';
import { openAskAgain } from './ask-again.js';
import type { RunDocument, SampleList, TrajectoryTexts } from './documents.js';
import { refOf } from './listed-run.js';
import { panelDocument } from './result-documents.js';
import { type Extras, runDocument } from './run-document.js';
import { sampleList } from './sample-list.js';
import { openTexts, trajectoryTexts } from './sample-texts.js';
import { scenarioPage } from './scenario-document.js';

/** Default limit for the texts in a page. */
export const MOST_BYTES = 60e6;

interface OpenOptions {
  readonly io: Io;
  /** Folder of the data, for lean rows. */
  readonly dataDir?: string | undefined;
  /** The viewer's name for the run. */
  readonly ref?: string;
  /** Costs of rows by record id; if absent, the journals are read. */
  readonly spent?: ReadonlyMap<string, RowSpent>;
}
export type OpenedRun = ReturnType<typeof openRun>;

export function openRun(run: ReadRun, { io, dataDir, ref = refOf(run), spent }: OpenOptions) {
  let list: SampleList | undefined;
  let taken = spent;
  const samples = () => {
    list ??= sampleList(run, ref);
    return list;
  };
  return {
    run,
    ref,
    samples,
    /** @param mostBytes limit for all samples of a scenario run. @throws UserError as `scenarioPage` */
    async page(extras?: Extras, mostBytes = MOST_BYTES): Promise<RunDocument> {
      const document = runDocument(run, ref, extras);
      if (run.made.mode !== 'scenarios') return document;
      return { ...document, ...(await scenarioPage(run, document.page, extras?.scoresOnly ? 0 : mostBytes, io.stop)) };
    },
    /** Undefined if a single judge judged it. */
    panel: () => panelDocument(run.manifest),
    /** @throws UserError as `openTexts` and `readSpent` */
    async openTexts() {
      taken ??= (await readSpent(run, io.stop)).spent;
      const known = { spent: taken, again: await openAskAgain(run, io) };
      const { read, close } = await openTexts(run, dataDir, io);
      /** The texts of a trajectory. @param place index in the list of samples; @throws UserError: 66 if there is none, 65 as `read` */
      const of = async (place: number): Promise<TrajectoryTexts> => {
        const trajectory = samples().trajectories[place];
        const rows = run.rows.filter((row) => row.trajectory === trajectory);
        if (rows.length === 0) throw inputMissing('This run has no such trajectory. Go back to its samples.');
        return trajectoryTexts(rows, read, known);
      };
      return { of, close };
    },
  };
}
