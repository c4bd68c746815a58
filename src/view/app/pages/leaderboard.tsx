// The leaderboard: blocks of runs that were judged alike, with the best of each column and what cannot be told from it.

import { intervalCell, NONE } from '../../../core/table.js';
import { PUBLISHED_SOURCE } from '../../../report/published.js';
import type { LeaderboardDocument, ShownBlock } from '../../documents.js';
import { Block, type Column, Header, Loaded, Notes, type Row, Table } from '../parts.js';
import { useDocument } from '../source.js';
import { DASH, plural, visible } from '../text.js';

export function LeaderboardPage() {
  return <Loaded of={useDocument('leaderboard')}>{(board) => <Board board={board} />}</Loaded>;
}

type JudgedBlock = LeaderboardDocument['blocks'][number];
type BoardRow = JudgedBlock['rows'][number];

function Board({ board: { blocks, shown } }: { board: LeaderboardDocument }) {
  const runs = blocks.flatMap(({ rows }) => rows).filter(({ published }) => !published).length;
  const ways = plural(blocks.length, 'way of judging', 'ways of judging');
  return (
    <>
      <Header title="AgentWorldBench leaderboard" lines={[`${plural(runs, 'run')}, ${ways}`]} />
      {blocks.length === 0 && <p>A leaderboard shows the runs that awb score stored; there are none here.</p>}
      {blocks.map(({ rows }, at) => {
        const block = shown[at];
        return block && <JudgedAlike block={block} rows={rows} />;
      })}
    </>
  );
}

function JudgedAlike({ block, rows }: { block: ShownBlock; rows: readonly BoardRow[] }) {
  const { heading, judge, columns, notes } = block;
  const ids = columns.map(({ id }) => id);
  const places = [...ids.keys()].filter((place) => !isBelow(ids[place] ?? '', ids));
  const rowsOf = (published: boolean): Row[] =>
    rows.flatMap((row, at) =>
      row.published === published ? [{ cells: places.map((place) => <Cell {...{ block, row, at, place }} />) }] : [],
    );
  const published = rowsOf(true);
  const title: Row = { cells: [`Published: official figures, judge ${PUBLISHED_SOURCE.judge}`] };
  return (
    <Block title={visible(heading)} note={judge.map((line) => visible(line))}>
      <Table
        look="board"
        label={heading}
        columns={places.flatMap((place): Column[] => {
          const { heading = '', align } = columns[place] ?? {};
          return [{ heading, kind: align === 'right' ? 'figure' : 'text' }];
        })}
        rows={[...rowsOf(false), ...(published.length > 0 ? [title, ...published] : [])]}
      />
      <Notes notes={notes} />
    </Block>
  );
}

/** Whether a column has no place of its own: intervals and official figures stand under their figures, rows under the coverage. */
function isBelow(id: string, ids: readonly string[]): boolean {
  const hasOverall = ids.includes('overall') || ids.includes('macro');
  return (hasOverall && (id === 'interval' || id === 'official')) || (id === 'rows' && ids.includes('coverage'));
}

/** A cell: its text, and below it the interval, the official figure where it differs, or the rows behind a coverage. */
function Cell({ block, row, at, place }: { block: ShownBlock; row: BoardRow; at: number; place: number }) {
  const texts = block.rows[at] ?? [];
  const { id = '' } = block.columns[place] ?? {};
  const text = texts[place] ?? NONE;
  if (text === NONE) return <span class="none">{DASH}</span>;
  const figure = row.figures[id];
  const { value, official } = figure ?? {};
  const interval = figure && intervalCell(figure);
  const differs = typeof value === 'number' && typeof official === 'number' && Math.abs(official - value) >= 0.005;
  const rows = block.columns.findIndex((column) => column.id === 'rows');
  const under = [
    ...(interval === undefined || interval === NONE ? [] : [interval]),
    ...(differs ? [`official ${official.toFixed(2)}`] : []),
    ...(id === 'coverage' && rows !== -1 && !row.published ? [texts[rows] ?? ''] : []),
  ];
  return (
    <>
      {figure?.best ? <strong class="good">{text}</strong> : visible(text)}
      {under.map((line) => (
        <small>{line}</small>
      ))}
    </>
  );
}
