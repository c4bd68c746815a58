// The page of a run: its head, its figures, and what is behind them.

import type { ComponentChild } from 'preact';
import type { FigureTable, RunDocument } from '../../documents.js';
import { Curve, cssPercent, IntervalChart, scaleOf } from '../charts.js';
import { Block, Fold, type KeyFigure, Loaded, ReportTable, Table } from '../parts.js';
import { href, type PageProps } from '../route.js';
import { useDocument } from '../source.js';
import { count, DASH, number, Text, visible } from '../text.js';
import { ProblemsPage } from './problems.js';
import { intervalOf, RunHead } from './run-head.js';
import { SamplesPage } from './samples.js';
import { Scenarios } from './scenarios.js';

const TABS = [
  ['', 'Overview'],
  ['problems', 'What went wrong'],
  ['samples', 'Samples'],
] as const;

export function RunPage({ index, route }: PageProps) {
  const [, id = '', tab = ''] = route.path;
  const isScenarios = index.runs.some(({ ref, mode }) => ref === id && mode === 'scenarios');
  return (
    <>
      {!isScenarios && (
        <nav class="tabs" aria-label="Run">
          {TABS.map(([path, name]) => (
            <a href={href(['run', id, path].filter(Boolean))} aria-current={path === tab ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
      )}
      {tab === 'samples' ? (
        <SamplesPage index={index} route={route} runRef={id} />
      ) : tab === 'problems' ? (
        <ProblemsPage index={index} route={route} runRef={id} />
      ) : (
        <Overview id={id} />
      )}
    </>
  );
}

function Overview({ id }: { id: string }) {
  const found = useDocument(`run/${id}`);
  return (
    <Loaded of={found}>
      {(run) => (
        <>
          {run.mode === 'scenarios' ? <Scenarios run={run} /> : <Figures run={run} />}
          {run.costs && (
            <Block
              title="Tokens and cost"
              note="As the servers counted, failed rows and replies that were asked for again among them; cached tokens are part of the prompt’s, reasoning tokens of the output."
            >
              <ReportTable table={run.costs} firstSum={0} label="Tokens and cost" />
            </Block>
          )}
          {run.manifest !== null && (
            <div class="block">
              <Fold title="Manifest" about="what made this run">
                <Text text={run.manifest} />
              </Fold>
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}

interface Of {
  readonly run: RunDocument;
}

function Figures({ run }: Of) {
  const { ref, lead, overall, mean, isOnScale, equivalence, turns, contexts, rollout } = run;
  const ends = [lead.from, lead.to] as const;
  const lines = [
    ...run.domains.map(({ domain, name, estimate }) => ({
      name: <a href={href(['run', ref, 'samples'], { domain })}>{visible(name)}</a>,
      figure: estimate,
    })),
    { name: mean, figure: overall, isSum: true },
  ];
  const bins = (parts: RunDocument['turns']) => parts.map(({ name, estimate }) => ({ name, figure: estimate }));
  return (
    <>
      <RunHead run={run} figures={keyFigures(run)} />
      <Block
        title={visible(`${lead.name === mean ? 'Scores' : lead.name} by domain`)}
        note="Dots are scores, lines their 95 % intervals, clustered by trajectory: turns of one trajectory are not independent."
      >
        <IntervalChart first="Domain" lines={lines} ends={ends} decimals={lead.decimals} />
      </Block>
      <Block title="What weighs it down" note={<Grouped id={ref} />}>
        <div class="pair">
          <Tallies
            {...{ id: ref, title: 'Failures', filter: 'failure', table: run.failures }}
            note="Rows without a score, by cause. Empty, refused and confusing predictions are the model’s doing; the others are missing data."
          />
          <Tallies
            {...{ id: ref, title: 'Flags', filter: 'flag', table: run.flags }}
            note="What is odd about a prediction without making it a failure."
          />
        </div>
      </Block>
      {equivalence && (
        <Block title="Decision equivalence">
          <ReportTable table={equivalence} label="Decision equivalence" />
        </Block>
      )}
      {rollout && <Rollout run={run} rollout={rollout} />}
      <Block
        title="Dimensions"
        note={`Each figure${isOnScale ? ' on a scale of 0 to 100,' : ','} its 95 % interval below it.`}
      >
        {run.figures.map((each) => (
          <IntervalTable {...each} />
        ))}
      </Block>
      {run.ratings.length > 0 && (
        <Block title="Ratings" note="How often the judge gave each rating from 1 to 5, over valid rows.">
          <Ratings ratings={run.ratings} />
        </Block>
      )}
      <div class="pair">
        {turns.length > 1 && (
          <Block title="Score by turn" note="Position of the predicted turn in its trajectory; mean over samples.">
            <IntervalChart first="Turn" lines={bins(turns)} ends={ends} decimals={lead.decimals} />
          </Block>
        )}
        {contexts.length > 1 && (
          <Block
            title="Score by context length"
            note="Characters put to the world model: system prompt, history and action; mean over samples."
          >
            <IntervalChart first="Characters" lines={bins(contexts)} ends={ends} decimals={lead.decimals} />
          </Block>
        )}
      </div>
    </>
  );
}

function keyFigures({ lead, overall, mean, official, coverage, least, tokens, ...run }: RunDocument): KeyFigure[] {
  const { chosen, valid, failed } = run;
  const rated = mean === 'Overall' ? mean : `Score (${mean})`;
  return [
    {
      title: lead.name === mean ? rated : `${lead.name} (${mean})`,
      figure: number(overall, lead.decimals),
      under: [intervalOf(overall, lead.decimals), official !== null && `official: ${official.toFixed(1)}`],
    },
    { title: 'Coverage', figure: withUnit(coverage), under: [least ?? 'of every domain'] },
    { title: 'Predictions', figure: count(valid), under: [`valid, of ${count(chosen)} chosen`] },
    {
      title: 'Failed or missing',
      figure: count(failed),
      under: [failed === 0 ? 'none' : `${((failed / Math.max(1, chosen)) * 100).toFixed(1)} % of the rows`],
    },
    ...(tokens === null ? [] : [{ title: 'Tokens', figure: withUnit(inShort(tokens.count)), under: [tokens.each] }]),
  ];
}

function inShort(tokens: number): string {
  if (tokens < 10_000) return count(tokens);
  const [size, unit] = tokens < 1e6 ? [tokens / 1e3, 'k'] : tokens < 1e9 ? [tokens / 1e6, 'M'] : [tokens / 1e9, 'G'];
  return `${size.toFixed(1)} ${unit}`;
}

/** A figure with its unit smaller. */
function withUnit(text: string): ComponentChild {
  const [figure, unit] = text.split(' ');
  return unit === undefined ? figure : [`${figure} `, <small>{unit}</small>];
}

function Grouped({ id }: { id: string }) {
  const link = <a href={href(['run', id, 'problems'])}>What went wrong</a>;
  return <>Facts that were not met, failures and flags stand in groups under {link}.</>;
}

/** Of these there are no samples, or none of that name. */
const UNLISTED = ['not-judged', 'unstated'];

/** Counts by name and domain, each name a filter of the samples. */
function Tallies(props: { id: string; title: string; filter: string; table: RunDocument['flags']; note: string }) {
  const { id, title, filter, table, note } = props;
  const link = (name: string) => <a href={href(['run', id, 'samples'], { [filter]: name })}>{visible(name)}</a>;
  const cellOf = (text: string, _: number, column: number) =>
    column > 0 || UNLISTED.includes(text) ? visible(text) : link(text);
  return (
    <section>
      <h3>{title}</h3>
      <p class="note">{note}</p>
      {table ? <ReportTable table={table} cellOf={cellOf} look="tally" label={title} /> : <p class="soft">None.</p>}
    </section>
  );
}

function IntervalTable({ table, intervals }: FigureTable) {
  return (
    <ReportTable
      table={table}
      label="Figures by domain"
      cellOf={(text, row, column) => {
        const interval = intervals[row]?.[column];
        return interval ? [text, <span class="note under">{interval}</span>] : visible(text);
      }}
    />
  );
}

/** A bar of each dimension, in which every rating takes its share; the counts stand next to it. */
function Ratings({ ratings }: { ratings: RunDocument['ratings'] }) {
  const names = ['1', '2', '3', '4', '5'];
  const counts = names.map((heading) => ({ heading, kind: 'figure' as const, isWide: true }));
  const columns = [
    { heading: 'Dimension' },
    { heading: '', kind: 'drawing' as const },
    ...counts,
    { heading: 'Mean', kind: 'figure' as const },
  ];
  const rows = ratings.map(({ name, counts, mean }) => ({
    cells: [name, <Stack counts={counts} />, ...counts.map(count), mean?.toFixed(2) ?? DASH],
  }));
  return (
    <>
      <p class="pips" aria-hidden="true">
        {names.map((name) => (
          <span class="pip" style={{ '--rating': `var(--r${name})` }}>
            {name}
          </span>
        ))}
      </p>
      <Table look="chart" columns={columns} rows={rows} />
    </>
  );
}

function Stack({ counts }: { counts: readonly number[] }) {
  const all = counts.reduce((sum, times) => sum + times, 0);
  let from = 0;
  return (
    <svg class="stack" height="1.35rem" aria-hidden="true">
      {counts.map((times, at) => {
        const share = all === 0 ? 0 : (times / all) * 100;
        const start = from;
        from += share;
        return (
          share > 0 && (
            <>
              <rect
                style={{ '--rating': `var(--r${at + 1})` }}
                x={cssPercent(start)}
                width={cssPercent(share)}
                height="100%"
              />
              {share >= 7 && (
                <text text-anchor="middle" dominant-baseline="central" x={cssPercent(start + share / 2)} y="52%">
                  {Math.round(share)} %
                </text>
              )}
            </>
          )
        );
      })}
    </svg>
  );
}

/** Score by distance as curves with their bands; the tables hold the figures behind them, and the drift. */
function Rollout({ run: { lead }, rollout }: Of & { rollout: NonNullable<RunDocument['rollout']> }) {
  const { curves, tables, forced } = rollout;
  const figures = curves.flatMap(({ points }) => points.map(({ figure }) => figure));
  const scale = scaleOf([lead.from, lead.to], figures);
  const dashed = forced === null ? '' : ` Dashed: the same rows predicted with true histories (${forced}).`;
  return (
    <Block
      title="Score by distance from the last true observation"
      note={visible(`Distance 1 has true history alone. Bands are 95 % intervals, clustered by trajectory.${dashed}`)}
    >
      <div class="curves">
        {curves.map(({ name, isSum, points }) => {
          const [least = 0, most = 1] = [points[0]?.distance, points.at(-1)?.distance];
          const placed = points.map(({ distance, label, figure, forced }) => ({
            ...{ at: (distance - least) / (most - least), label, figure },
            other: forced ?? undefined,
          }));
          return <Curve name={name} points={placed} scale={scale} isSum={isSum} />;
        })}
      </div>
      {tables.map((table) => (
        <ReportTable table={table} label={table.columns[0]?.heading ?? ''} />
      ))}
    </Block>
  );
}
