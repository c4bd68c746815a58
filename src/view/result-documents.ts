// Leaderboards, calibrations and panels as documents of the app: what `--json` prints of each, and the texts it is shown with. And a page of
// one such document alone.

import { isModelCaused } from '../core/points.js';
import type { Io } from '../core/types.js';
import { helpOf } from '../judge/calibrate/variants.js';
import { measureOf } from '../judge/modes.js';
import { type Agreement, agreementOfPanel } from '../report/agreement.js';
import { domainTable } from '../report/calibration.js';
import { leaderboardDocument } from '../report/formats.js';
import { type Leaderboard, leaderboard, remarksOn } from '../report/leaderboard/leaderboard.js';
import type { BoardOptions } from '../report/leaderboard/runs.js';
import { latestOf, withKnownRuns } from '../results/databases.js';
import { boardRuns, tiesOf } from '../results/leaderboard.js';
import type { Manifest } from '../run/manifest.js';
import { toolVersion } from '../settings/command.js';
import { PANEL } from '../stats/agreement/panel.js';
import type { CalibrationDocument } from '../stats/calibration/document.js';
import { LEAST_COVERAGE } from '../stats/coverage.js';
import { openExistingStore } from '../store/store.js';
import type { Documents, Index, LeaderboardDocument, ListedRun, ShownCalibration } from './documents.js';
import { staticPage } from './page.js';

/** A leaderboard. Names of runs and judges may be hostile. */
export function boardDocument(board: Leaderboard): LeaderboardDocument {
  return {
    ...leaderboardDocument(board),
    shown: board.blocks.map((block) => ({
      heading: block.heading,
      judge: block.judge,
      columns: block.columns.map(({ id, heading, align }) => ({ id, heading, align })),
      rows: block.rows.map(({ texts }) => texts),
      notes: remarksOn(block, 'Bold'),
    })),
  };
}

/** The leaderboard that `awb leaderboard` shows of SQLite files without further options. @param paths absolute */
export function storedBoard(paths: readonly string[], io: Io): Promise<LeaderboardDocument> {
  return withKnownRuns(paths, io, async (known) => {
    const runs = boardRuns(latestOf(known), () => undefined);
    return boardDocument(leaderboard(runs, USUAL, tiesOf(known, measureOf)));
  });
}

const USUAL: BoardOptions = {
  ...{ show: 'latest', per: 'label', columns: [], dimensions: false, measureOf },
  ...{ minCoverage: LEAST_COVERAGE, withPublished: false, assumeSame: false },
};

/** The calibration of a run's judge, as it was asked, in one of these SQLite files; undefined where there is none. */
export function judgeCalibration(paths: readonly string[], judgeKey: string | undefined): ShownCalibration | undefined {
  if (judgeKey === undefined) return undefined;
  for (const path of paths) {
    const store = openExistingStore(path);
    try {
      const found = store.calibration(judgeKey);
      if (found !== undefined) return shownCalibration(found);
    } finally {
      store.close();
    }
  }
  return undefined;
}

/** A calibration. Names of judges, domains and variants may be hostile. */
export function shownCalibration(calibration: CalibrationDocument): ShownCalibration {
  const { losses, canaries } = calibration.overall;
  const help = [...losses, ...canaries].map(({ variant }) => [variant, helpOf(variant)]);
  return { ...calibration, help: Object.fromEntries(help), byDomain: domainTable(calibration) };
}

/** The panel that judged a run, by its manifest; undefined where a single judge did. */
export function panelDocument({ panel, identity, counts }: Partial<Manifest> = {}): Agreement | undefined {
  if (panel === undefined || identity === undefined || counts === undefined) return undefined;
  const caused = Object.entries(counts.failures).reduce((sum, [name, n]) => sum + (isModelCaused(name) ? n : 0), 0);
  const { combine, quorum = null, offsets = null } = identity;
  const read = PANEL_FIGURES.safeParse({
    ...{ ...panel, combine, quorum, offsets },
    predictions: counts.chosen - counts.absent,
    rated: counts.ok,
    model_caused: caused,
    missing: counts.failed - caused,
    not_judged: counts.notDone,
  });
  return read.success ? agreementOfPanel(read.data) : undefined;
}

const PANEL_FIGURES = PANEL.omit({ schema: true, exit_code: true, output: true });

/** The page of one document in a file of its own. */
export async function resultPage<N extends 'gate' | 'leaderboard' | 'agreement' | `calibration/${string}`>(
  title: string,
  name: N,
  document: Documents[N],
): Promise<string> {
  const index = { ...staticIndex([]), scoresOnly: true };
  const page = await staticPage({ title, start: `/${name}` }, [
    ['index', index],
    [name, document],
  ]);
  return page.join('');
}

/** What there is to see on a page in one file. */
export function staticIndex(runs: readonly ListedRun[]): Index {
  return { tool: `awb ${toolVersion()}`, isLive: false, scoresOnly: false, runs, episodes: [], work: [], unread: [] };
}
