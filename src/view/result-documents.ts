// Leaderboards, calibrations and agreements as documents of the app: the output of `--json`, and its page. Also a file with one such
// document.

import { present } from '../core/errors.js';
import { isModelCaused } from '../core/points.js';
import { intervalCell, NONE } from '../core/table.js';
import type { Io } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { type Agreement, agreementOfPanel } from '../report/agreement.js';
import { leaderboardDocument } from '../report/formats.js';
import { type Leaderboard, leaderboard } from '../report/leaderboard/leaderboard.js';
import type { BoardOptions } from '../report/leaderboard/runs.js';
import { PUBLISHED_SOURCE } from '../report/published.js';
import { latestOf, withKnownRuns } from '../results/databases.js';
import { boardRuns, tiesOf } from '../results/leaderboard.js';
import type { Manifest } from '../run/manifest.js';
import { toolVersion } from '../settings/command.js';
import { PANEL } from '../stats/agreement/panel.js';
import type { CalibrationDocument } from '../stats/calibration/document.js';
import { LEAST_COVERAGE } from '../stats/coverage.js';
import { openExistingStore } from '../store/store.js';
import { calibrationPage } from './calibration-page.js';
import type {
  Cell,
  Documents,
  Index,
  LeaderboardDocument,
  ListedRun,
  ShownCalibration,
  ShownTable,
} from './documents.js';
import { DASH, plural } from './figures.js';
import { staticPage } from './page.js';

/** A leaderboard: blocks of runs that were judged alike. Names of runs and judges may be hostile. */
export function boardDocument(board: Leaderboard): LeaderboardDocument {
  const document = leaderboardDocument(board);
  const runs = document.blocks.flatMap(({ rows }) => rows).filter(({ published }) => !published).length;
  const ways = plural(board.blocks.length, 'way of judging', 'ways of judging');
  const page = {
    title: 'AgentWorldBench leaderboard',
    lines: [`${plural(runs, 'run')}, ${ways}`],
    notes: board.blocks.length > 0 ? [] : ['A leaderboard shows runs stored by awb score; there are none here.'],
    blocks: board.blocks.map((block, at) => ({
      title: block.heading,
      note: block.judge.join(' '),
      tables: [boardTable(block, present(document.blocks[at]).rows)],
    })),
  };
  return { ...document, page };
}

type BoardRow = LeaderboardDocument['blocks'][number]['rows'][number];

/** The block's own runs, then the published ones. Intervals and official figures are below their figures, rows below the coverage. */
function boardTable(block: Leaderboard['blocks'][number], rows: readonly BoardRow[]): ShownTable {
  const ids = block.columns.map(({ id }) => id);
  const hasOverall = ids.includes('overall') || ids.includes('macro');
  const isBelow = (id: string) =>
    (hasOverall && (id === 'interval' || id === 'official')) || (id === 'rows' && ids.includes('coverage'));
  const shown = block.columns.filter(({ id }) => !isBelow(id));
  const linesOf = (published: boolean) =>
    rows.flatMap((row, at) => {
      const textOf = (id: string) => block.rows[at]?.texts[ids.indexOf(id)] ?? NONE;
      return row.published === published ? [shown.map(({ id }) => boardCell(row, id, textOf))] : [];
    });
  const published = linesOf(true);
  const title = [`Published: official figures, judge ${PUBLISHED_SOURCE.judge}`];
  return {
    columns: shown.map(({ heading, align }) => ({ heading, align })),
    groups: [[...linesOf(false), ...(published.length > 0 ? [title, ...published] : [])]],
    footnotes: [...block.legend, ...block.notes],
    isBoard: true,
  };
}

function boardCell(row: BoardRow, id: string, textOf: (id: string) => string): Cell {
  const text = textOf(id);
  if (text === NONE) return { text: DASH, look: 'none' };
  const { [id]: figure } = row.figures;
  const { value, official } = figure ?? {};
  const interval = intervalCell(figure ?? undefined);
  const differs = typeof value === 'number' && typeof official === 'number' && Math.abs(official - value) >= 0.005;
  const under = [
    ...(interval === NONE ? [] : [interval]),
    ...(differs ? [`official ${official.toFixed(2)}`] : []),
    ...(id === 'coverage' && !row.published && textOf('rows') !== NONE ? [textOf('rows')] : []),
  ];
  return { text, under, isStrong: figure?.best === true };
}

/** The leaderboard of `awb leaderboard` for SQLite files, without further options. @param paths absolute */
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

/** The calibration of a run's judge, with the same settings, in one of these SQLite files; undefined if there is none. */
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

export function shownCalibration(calibration: CalibrationDocument): ShownCalibration {
  return { ...calibration, page: calibrationPage(calibration) };
}

/** How well judges agree: a panel's with each other, or a judge with people. */
export function shownAgreement(title: string, { sentences, tables, notes }: Agreement): Documents['agreement'] {
  const blocks = tables.map((table) => ({ title: table.columns[0]?.heading ?? '', tables: [table] }));
  return { page: { title, lines: sentences, notes, blocks } };
}

/** The agreement of the panel that judged a run, from its manifest; undefined for a single judge. */
export function panelDocument({ panel, identity, counts }: Partial<Manifest> = {}): Documents['agreement'] | undefined {
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
  return read.success ? shownAgreement('Panel of judges', agreementOfPanel(read.data)) : undefined;
}

const PANEL_FIGURES = PANEL.omit({ schema: true, exit_code: true, output: true });

/** The page of one document, as a file. */
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

/** The contents of a single-file page. */
export function staticIndex(runs: readonly ListedRun[]): Index {
  return { tool: `awb ${toolVersion()}`, isLive: false, scoresOnly: false, runs, episodes: [], work: [], unread: [] };
}
