// Parts of pages: headers, blocks, tables, folds, and placeholders for a document that is loading or cannot be read.

import type { ComponentChild, ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Cell, KeyFigure, Page } from '../documents.js';
import type { Loading } from './source.js';
import { visible } from './text.js';

/** A part of a page with a heading and a note on how to read it. @param isInner whether it is inside another block */
export function Block(props: {
  title?: string | undefined;
  note?: string | undefined;
  isInner?: boolean;
  children: ComponentChildren;
}) {
  const { title, note, isInner = false, children } = props;
  const Heading = isInner ? 'h3' : 'h2';
  return (
    <section class={isInner ? undefined : 'block'}>
      {title && <Heading>{visible(title)}</Heading>}
      {note && <p class="note">{visible(note)}</p>}
      {children}
    </section>
  );
}

/** The head of a page: its title, how it was made, its outcome, its key figures and remarks. */
export function Header(props: Omit<Page, 'blocks'> & { children?: ComponentChildren }) {
  const { title, facts = [], lines = [], warnings = [], outcome, said = [], reasons = [] } = props;
  const { figures = [], notes = [], children } = props;
  return (
    <header>
      <h1>{visible(title)}</h1>
      <p class="row soft">
        {facts.map(([name, text]) => (
          <span>
            {visible(name)} <b>{visible(text)}</b>
          </span>
        ))}
      </p>
      {lines.map((line) => (
        <p class="row soft">
          <CellText of={line} />
        </p>
      ))}
      {outcome && (
        <p class="outcome">
          <CellText of={outcome} />
        </p>
      )}
      {said.map((line) => (
        <p>
          <CellText of={line} />
        </p>
      ))}
      <Notes notes={reasons} />
      {warnings.length > 0 && (
        <div class="warn" role="note">
          {warnings.map((text) => (
            <p>{visible(text)}</p>
          ))}
        </div>
      )}
      <KeyFigures figures={figures} />
      <Notes notes={notes} />
      {children}
    </header>
  );
}

/** Figures side by side, each below its title, with a smaller unit; nothing if there are none. */
function KeyFigures({ figures }: { figures: readonly KeyFigure[] }) {
  if (figures.length === 0) return null;
  return (
    <dl class="key note">
      {figures.map(({ title, figure, under = [] }) => {
        const [value, ...unit] = figure.split(' ');
        return (
          <div>
            <dt>{title}</dt>
            <dd class="big">
              {value}
              {unit.length > 0 && <small>{` ${unit.join(' ')}`}</small>}
            </dd>
            {under.map((line) => (
              <dd class="under">{visible(line)}</dd>
            ))}
          </div>
        );
      })}
    </dl>
  );
}

/** Sentences as a list; nothing if there are none. */
export function Notes({ notes }: { notes: readonly Cell[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="note">
      {notes.map((note) => (
        <li>
          <CellText of={note} />
        </li>
      ))}
    </ul>
  );
}

/** A judge's remarks on a prediction, one per line. */
export function Remarks({ title, remarks }: { title: string; remarks: readonly string[] }) {
  return (
    <section>
      <h3>{title}</h3>
      {remarks.length === 0 && <p class="soft">None.</p>}
      <ul>
        {remarks.map((remark) => (
          <li>{visible(remark.replace(/\s+/g, ' '))}</li>
        ))}
      </ul>
    </section>
  );
}

export interface Column {
  readonly heading: ComponentChild;
  /** Figures align right, drawings take the remaining width. */
  readonly kind?: 'figure' | 'drawing' | 'text';
  /** Left out on a phone. */
  readonly isWide?: boolean;
}
export interface Row {
  /** The first names the row. A row with only a name is a heading for the rows after it. */
  readonly cells: readonly ComponentChild[];
  /** Whether it sums up those above it. */
  readonly isSum?: boolean | undefined;
}

function classOf({ kind, isWide }: Column = { heading: '' }): string | undefined {
  const classes = [kind === 'figure' && 'n', kind === 'drawing' && 't', isWide && 'wide'].filter(Boolean).join(' ');
  return classes || undefined;
}

/** A table that scrolls sideways if it has no room. On a phone, each cell of a `cards` table shows its column's name. */
export function Table(props: {
  columns: readonly Column[];
  rows: readonly Row[];
  look?: string | undefined;
  label?: string | undefined;
}) {
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

/** A text in a cell or a line. */
export function CellText({ of }: { of: Cell }) {
  if (typeof of === 'string') return <>{visible(of)}</>;
  const { text, under = [], look, isStrong, link } = of;
  const Tag = isStrong ? 'strong' : 'span';
  const shown = link === undefined ? visible(text) : <a href={link}>{visible(text)}</a>;
  return (
    <>
      {look || isStrong ? <Tag class={look}>{shown}</Tag> : shown}
      {under.map((line) => (
        <small class="under">{visible(line)}</small>
      ))}
    </>
  );
}

/** Opens on a click, and is only drawn then, since there may be thousands. */
export function Fold(props: {
  title: ComponentChild;
  about?: ComponentChild;
  isOpen?: boolean | undefined;
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

/** A drop-down with its label. */
export function Select(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  choose: (value: string) => void;
}) {
  return (
    <label class="note field">
      {props.label}
      <select value={props.value} onChange={({ currentTarget }) => props.choose(currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option value={value} selected={value === props.value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A document once it is loaded; until then a placeholder, or the reason if it cannot be read. */
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
