// What pages are put together from: heads, blocks, tables, folds, and what stands where a document is still loading or cannot be read.

import type { ComponentChild, ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Table as PlainTable } from '../../core/table.js';
import type { Loading } from './source.js';
import { visible } from './text.js';

/** A part of a page under its heading, with a note on how to read it. */
export function Block({
  title,
  note,
  children,
}: {
  title: ComponentChild;
  note?: ComponentChild;
  children: ComponentChildren;
}) {
  return (
    <section class="block">
      <h2>{title}</h2>
      {note !== undefined && note !== '' && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

type Fact = readonly [name: string, text: string | null | undefined];
export interface KeyFigure {
  readonly title: string;
  readonly figure: ComponentChild;
  /** Lines below it. */
  readonly under?: readonly (string | undefined | false)[];
}

/** The head of a page: what it is about, what made it, what to heed, and its key figures. */
export function Header(props: {
  title: string;
  facts?: readonly Fact[];
  lines?: readonly ComponentChild[];
  warnings?: readonly string[];
  figures?: readonly KeyFigure[];
  children?: ComponentChildren;
}) {
  const { title, facts = [], lines = [], warnings = [], figures = [], children } = props;
  return (
    <header>
      <h1>{visible(title)}</h1>
      {facts.length > 0 && <Facts facts={facts} />}
      {lines.map((line) => (
        <p class="row soft">{typeof line === 'string' ? visible(line) : line}</p>
      ))}
      {warnings.length > 0 && (
        <div class="warn" role="note">
          {warnings.map((text) => (
            <p>{visible(text)}</p>
          ))}
        </div>
      )}
      <KeyFigures figures={figures} />
      {children}
    </header>
  );
}

/** Figures side by side, each under its title; nothing where there are none. */
export function KeyFigures({ figures }: { figures: readonly KeyFigure[] }) {
  if (figures.length === 0) return null;
  return (
    <dl class="key note">
      {figures.map(({ title, figure, under = [] }) => (
        <div>
          <dt>{title}</dt>
          <dd class="big">{figure}</dd>
          {under.map((line) => line && <dd class="under">{visible(line)}</dd>)}
        </div>
      ))}
    </dl>
  );
}

/** Sentences as a list; nothing where there are none. */
export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="note">
      {notes.map((note) => (
        <li>{visible(note)}</li>
      ))}
    </ul>
  );
}

/** Facts in one line; what nobody knows is left out. */
function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <p class="row soft">
      {facts.map(
        ([name, text]) =>
          text != null &&
          text !== '' && (
            <span>
              {visible(name)} <b>{visible(text)}</b>
            </span>
          ),
      )}
    </p>
  );
}

export interface Column {
  readonly heading: ComponentChild;
  /** Figures stand at the right, drawings take what is left. */
  readonly kind?: 'figure' | 'drawing' | 'text';
  /** Left out on a phone. */
  readonly isWide?: boolean;
}
export interface Row {
  /** The first names the row. A name alone stands above the rows that follow. */
  readonly cells: readonly ComponentChild[];
  /** Whether it sums up those above it. */
  readonly isSum?: boolean | undefined;
}

function classOf({ kind, isWide }: Column = { heading: '' }): string | undefined {
  const classes = [kind === 'figure' && 'n', kind === 'drawing' && 't', isWide && 'wide'].filter(Boolean).join(' ');
  return classes || undefined;
}

/** A table that scrolls sideways where it has no room. On a phone each cell of a `cards` table says what its column is called. */
export function Table(props: { columns: readonly Column[]; rows: readonly Row[]; look?: string; label?: string }) {
  const { columns, rows, look, label } = props;
  const region = label === undefined ? {} : { tabIndex: 0, role: 'region' as const, 'aria-label': label };
  return (
    <div class="scroll" {...region}>
      <table class={look}>
        <thead>
          <tr>
            {columns.map((column) =>
              column.kind === 'drawing' ? (
                <td class={classOf(column)}>{column.heading}</td>
              ) : (
                <th scope="col" class={classOf(column)}>
                  {column.heading}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ cells: [name, ...cells], isSum }) =>
            cells.length === 0 ? (
              <tr>
                <th class="note" colSpan={columns.length}>
                  {name}
                </th>
              </tr>
            ) : (
              <tr class={isSum ? 'sum' : undefined}>
                <th scope="row">{name}</th>
                {cells.map((cell, at) => {
                  const column = columns[at + 1];
                  const heading = typeof column?.heading === 'string' ? column.heading : undefined;
                  return (
                    <td class={classOf(column)} data-label={heading}>
                      {cell}
                    </td>
                  );
                })}
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

/**
 * A table that the program made for its terminal, with its notes.
 * @param cellOf what stands in a cell, where that is more than its text; @param firstSum the group from which on the first row is a sum
 */
export function ReportTable(props: {
  table: PlainTable;
  look?: string;
  label?: string;
  cellOf?: (text: string, row: number, column: number) => ComponentChild;
  firstSum?: number;
}) {
  const { table, look = 'matrix', label, cellOf = (text) => visible(text), firstSum = 1 } = props;
  const columns = table.columns.map(
    ({ heading, align }): Column => ({ heading, kind: align === 'right' ? 'figure' : 'text' }),
  );
  const rows = table.groups
    .flatMap((group, at) => group.map((texts, index) => ({ texts, isSum: at >= firstSum && index === 0 })))
    .map(({ texts, isSum }, row) => ({ cells: texts.map((text, column) => cellOf(text, row, column)), isSum }));
  return (
    <>
      <Table columns={columns} rows={rows} look={look} {...(label === undefined ? {} : { label })} />
      {(table.footnotes ?? []).length > 0 && <p class="note">{table.footnotes?.join(' ')}</p>}
    </>
  );
}

/** What opens on a click, and is drawn then: there may be thousands. */
export function Fold(props: {
  title: ComponentChild;
  about?: ComponentChild;
  isOpen?: boolean;
  children: ComponentChildren | (() => ComponentChildren);
}) {
  const { title, about, isOpen = false, children } = props;
  const [isDrawn, setIsDrawn] = useState(isOpen);
  return (
    <details open={isOpen} onToggle={() => setIsDrawn(true)}>
      <summary>
        {title} {about !== undefined && <span class="note">{about}</span>}
      </summary>
      {isDrawn && (typeof children === 'function' ? children() : children)}
    </details>
  );
}

/** A field to choose from, under its label. */
export function Select(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  choose: (value: string) => void;
}) {
  const id = useId();
  return (
    <label class="note field" for={id}>
      {props.label}
      <select id={id} value={props.value} onChange={({ currentTarget }) => props.choose(currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option value={value} selected={value === props.value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A document once it is there; until then room for it, and where it cannot be read the reason. */
export function Loaded<T>({ of, children }: { of: Loading<T>; children: (value: T) => ComponentChild }) {
  if (of.value !== undefined) return <>{children(of.value)}</>;
  if (of.error !== undefined) return <Failed reason={of.error} />;
  return (
    <div class="empty" role="status">
      <span class="unseen">Loading</span>
    </div>
  );
}

export function Failed({ reason }: { reason: string }) {
  return (
    <div class="empty" role="alert">
      <h2>This cannot be shown</h2>
      <p>{visible(reason)}</p>
    </div>
  );
}
