// Draws a document's page part by part: figures, tables with their drawings, curves, and folds.

import type { ComponentChild } from 'preact';
import type { DocumentName, Drawings, PageBlock, ShownTable } from '../documents.js';
import { Axis, CurveSet, Stack, scaleOf, Track } from './charts.js';
import { Block, CellText, Fold, Header, Loaded, Notes, Table } from './parts.js';
import { useDocument } from './source.js';
import { Text, visible } from './text.js';

type PageName = Extract<
  DocumentName,
  'gate' | 'leaderboard' | 'agreement' | `${'run' | 'compare' | 'calibration' | 'panel' | 'episodes'}/${string}`
>;

/** @param rows address of the rows that differ between two runs, if comparable */
export function ShownPage({ name, rows }: { name: PageName; rows?: string }) {
  return (
    <Loaded of={useDocument(name)}>
      {({ page }) => (
        <article>
          <Header {...page}>
            {rows && page.figures && (
              <p>
                <a href={rows}>Rows that differ, worst first</a>
              </p>
            )}
          </Header>
          <Blocks of={page.blocks} />
        </article>
      )}
    </Loaded>
  );
}

/** @param isInner whether they are inside another block */
function Blocks({ of, isInner = false }: { of: readonly PageBlock[]; isInner?: boolean }): ComponentChild {
  return of.map(({ title, note, text, notes = [], curves, tables = [], pair, folds = [] }) => (
    <Block title={title} note={note} isInner={isInner}>
      {text !== undefined && <BlockText text={text} />}
      <Notes notes={notes} />
      {curves && <CurveSet of={curves} />}
      {tables.map((table) => (
        <DataTable table={table} />
      ))}
      {pair && (
        <div class="pair">
          <Blocks of={pair} isInner />
        </div>
      )}
      {folds.map(({ title, about = [], isOpen, blocks }) => (
        <Fold title={visible(title)} about={about.map((cell) => <CellText of={cell} />)} isOpen={isOpen}>
          {() => <Blocks of={blocks} isInner />}
        </Fold>
      ))}
    </Block>
  ));
}

function BlockText({ text }: { text: string | null }) {
  if (text === null || text.trim() === '') return <p class="soft">{text === null ? 'unknown' : 'empty'}</p>;
  return <Text text={text} />;
}

/** A table with its drawings and footnotes. */
function DataTable({ table }: { table: ShownTable }) {
  const { columns, groups, firstSum = 1, footnotes = [], drawings, isBoard } = table;
  const drawn = drawings && drawingsOf(drawings);
  const [first, ...others] = columns.map(({ heading, align, isWide = false }) => ({
    ...{ heading, isWide },
    kind: align === 'right' ? ('figure' as const) : ('text' as const),
  }));
  const rows = groups.flatMap((group, at) =>
    group.map((cells, row) => ({ cells, isSum: at >= firstSum && row === 0 })),
  );
  return (
    <>
      {drawings && 'counts' in drawings && <RatingKey />}
      <Table
        look={drawn?.look ?? (isBoard ? 'board' : undefined)}
        label={drawn ? undefined : first?.heading}
        columns={[...(first ? [first] : []), ...(drawn ? [drawn.column] : []), ...others]}
        rows={rows.map(({ cells: [name = '', ...cells], isSum }, at) => ({
          cells: [
            <CellText of={name} />,
            ...(drawn ? [drawn.cells[at]] : []),
            ...cells.map((cell) => <CellText of={cell} />),
          ],
          isSum,
        }))}
      />
      <Notes notes={footnotes} />
    </>
  );
}

/** The column of drawings, and the drawing of each row. */
function drawingsOf(drawings: Drawings) {
  if ('counts' in drawings) {
    const cells = drawings.counts.map((counts) => <Stack counts={counts} />);
    return { look: 'chart', column: { heading: '', kind: 'drawing' as const }, cells };
  }
  const scale = scaleOf(drawings.ends, drawings.figures);
  const cells = drawings.figures.map((figure) => <Track scale={scale} figure={figure} />);
  return { look: 'chart', column: { heading: <Axis scale={scale} />, kind: 'drawing' as const }, cells };
}

/** The colours of the ratings. */
function RatingKey() {
  return (
    <p class="pips" aria-hidden="true">
      {[1, 2, 3, 4, 5].map((rating) => (
        <span class="pip" style={{ '--rating': `var(--r${rating})` }}>
          {rating}
        </span>
      ))}
    </p>
  );
}
