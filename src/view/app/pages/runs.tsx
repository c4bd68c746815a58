// The list of runs: those at work, each run's leading figure and the trust in its judge; with sorting, filters and a choice to compare.

import type { ComponentChild } from 'preact';
import { dollars, duration } from '../../../core/printable.js';
import { percent } from '../../../stats/coverage.js';
import type { Index, ListedRun } from '../../documents.js';
import { count, DASH, number, plural, range } from '../../figures.js';
import { type Scale, scaleOf, Track } from '../charts.js';
import { Block, type Column, Header, Notes, Select, Table } from '../parts.js';
import { href, type PageProps, type Route, set } from '../route.js';
import { visible } from '../text.js';

type Work = Index['work'][number];

export function RunsPage({ index, route }: PageProps) {
  const chosen = (route.query.get('chosen') ?? '')
    .split(',')
    .filter((ref) => index.runs.some((run) => run.ref === ref));
  return (
    <>
      <Header title="Runs" />
      {index.work.length > 0 && <AtWork work={index.work} />}
      {index.runs.length + index.episodes.length === 0 ? (
        <div class="empty">
          <h2>No scored runs yet</h2>
          <p>
            Score a judged file with <code>awb score RUN</code>, and it appears here.
          </p>
        </div>
      ) : (
        index.runs.length > 0 && <RunList runs={index.runs} route={route} chosen={chosen} />
      )}
      {index.episodes.length > 0 && (
        <Block title="Episodes" note="What agents did in worlds simulated by a model, turn by turn.">
          <Notes
            notes={index.episodes.map(({ ref, name, date }) => ({
              text: `${name}, ${date.slice(0, 10)}`,
              link: href(['episodes', ref]),
            }))}
          />
        </Block>
      )}
      {index.unread.length > 0 && (
        <Block title="Could not be read" note="All other runs are unaffected.">
          <Notes notes={index.unread.map(({ place, reason }) => `${place}: ${reason}`)} />
        </Block>
      )}
    </>
  );
}

/** Sort keys by order, larger first. */
const ORDERS: Readonly<Record<string, (run: ListedRun) => number | string>> = {
  date: ({ date }) => date,
  score: ({ overall }) => overall?.value ?? Number.NEGATIVE_INFINITY,
  step: ({ step }) => step ?? Number.NEGATIVE_INFINITY,
  cost: ({ usd }) => usd ?? Number.NEGATIVE_INFINITY,
  name: ({ name }) => name,
};

function RunList({ runs, route, chosen }: { runs: readonly ListedRun[]; route: Route; chosen: readonly string[] }) {
  const [text, judge, sort] = ['text', 'judge', 'sort'].map((name) => route.query.get(name) ?? '');
  const judges = [...new Set(runs.map(({ judge, mode }) => judge ?? mode))].sort();
  const order = ORDERS[sort || 'date'] ?? (() => 0);
  const found = runs
    .filter(({ name, worldModel, judge: by, mode }) => {
      const words = [name, worldModel, by, mode].join(' ').toLowerCase();
      return words.includes((text ?? '').toLowerCase()) && (!judge || (by ?? mode) === judge);
    })
    .toSorted((a, b) => {
      const [one, other] = [order(a), order(b)];
      return one === other ? 0 : (one < other ? 1 : -1) * (sort === 'name' ? -1 : 1);
    });
  const scaleFor = ({ from, to }: ListedRun['lead']) => {
    const figures = runs.flatMap(({ lead, overall }) => (lead.from === from && lead.to === to ? overall : []));
    return scaleOf([from, to], figures);
  };
  const tick = (ref: string) =>
    set(route, { chosen: (chosen.includes(ref) ? chosen.filter((one) => one !== ref) : [...chosen, ref]).join(',') });
  const columns: Column[] = [
    { heading: 'Run' },
    { heading: 'Overall', kind: 'figure' },
    { heading: '', kind: 'drawing', isWide: true },
    ...['Coverage', 'Cost'].map((heading): Column => ({ heading, kind: 'figure' })),
    { heading: 'Judged by' },
    { heading: 'Date', kind: 'figure' },
  ];
  const rows = found.map((run) => ({
    cells: cellsOf(run, scaleFor(run.lead), chosen.includes(run.ref), () => tick(run.ref)),
  }));
  return (
    <section class="block">
      <form class="row filters" aria-label="Filter runs" onSubmit={(event) => event.preventDefault()}>
        <label class="note field">
          Name, model or judge
          <input
            type="search"
            value={text}
            onInput={({ currentTarget }) => set(route, { text: currentTarget.value })}
          />
        </label>
        <Select
          label="Judge or mode"
          value={judge ?? ''}
          options={[['', 'all'], ...judges.map((name) => [name, name] as const)]}
          choose={(judge) => set(route, { judge })}
        />
        <Select
          label="Order"
          value={sort ?? ''}
          options={[
            ['', 'newest first'],
            ['score', 'highest score first'],
            ['step', 'latest step first'],
            ['cost', 'most expensive first'],
            ['name', 'by name'],
          ]}
          choose={(sort) => set(route, { sort })}
        />
        <Chosen runs={runs} chosen={chosen} clear={() => set(route, { chosen: '' })} />
      </form>
      <p class="soft" role="status">
        {found.length === runs.length
          ? plural(runs.length, 'run')
          : `${count(found.length)} of ${plural(runs.length, 'run')}`}
      </p>
      <Table look="board" label="Runs" columns={columns} rows={rows} />
    </section>
  );
}

function cellsOf(run: ListedRun, scale: Scale, isChosen: boolean, tick: () => void): ComponentChild[] {
  const { ref, name, worldModel, protocol, overall, lead, state, trust, step } = run;
  const about = [worldModel === name ? undefined : worldModel, protocol, step === null ? undefined : `step ${step}`];
  return [
    <span class="tick">
      <input type="checkbox" checked={isChosen} onChange={tick} aria-label={`Choose ${name}`} />
      <span>
        <a href={href(['run', ref])}>{visible(name)}</a>
        <small>{visible(about.filter(Boolean).join(' · '))}</small>
      </span>
    </span>,
    overall === null ? (
      <span class="soft">{state}</span>
    ) : (
      <>
        {number(overall, lead.decimals)}
        <small>{lead.name === 'Overall' ? (range(overall) ?? 'no interval') : visible(lead.name)}</small>
      </>
    ),
    overall !== null && <Track scale={scale} figure={overall} />,
    <>
      {overall === null ? DASH : percent(run.coverage)}
      {state === 'incomplete' && <small class="bad">incomplete</small>}
    </>,
    run.usd === null ? DASH : dollars(run.usd),
    <>
      {visible([run.judge ?? run.mode, run.rubricPack].filter(Boolean).join(', '))}
      {trust !== null && <small>{visible(trust)}</small>}
    </>,
    run.date.slice(0, 10) || DASH,
  ];
}

/** Actions for the chosen runs. */
function Chosen({ runs, chosen, clear }: { runs: readonly ListedRun[]; chosen: readonly string[]; clear: () => void }) {
  if (chosen.length === 0) return <p class="soft">Choose two or more runs to compare them.</p>;
  const all = runs.filter(({ ref }) => chosen.includes(ref));
  const alike = new Set(all.map(({ judgedAlike }) => judgedAlike));
  const oldestFirst = all.map(({ ref }) => ref).reverse();
  return (
    <p>
      {plural(chosen.length, 'run')} chosen{' '}
      {chosen.length > 1 &&
        (alike.size === 1 ? (
          <a class="button" href={href(['compare', ...oldestFirst])}>
            Compare
          </a>
        ) : (
          <span class="soft">They were not judged in the same way, so their scores cannot be compared.</span>
        ))}{' '}
      <button type="button" class="quiet" onClick={clear}>
        Clear
      </button>
    </p>
  );
}

/** Unfinished runs: their progress, speed and failures. */
function AtWork({ work }: { work: readonly Work[] }) {
  return (
    <Block title="At work">
      {work.map((run) => (
        <Working run={run} />
      ))}
    </Block>
  );
}

function Working({ run }: { run: Work }) {
  const { label, total, left, rows_per_second: rate, seconds_left: wait, usd, tokens } = run;
  const done = run.ok + run.failed;
  const name = label ?? run.dir;
  const share = total === 0 ? 1 : done / total;
  const words = [
    `${count(done)} of ${count(total)} rows`,
    left > 0 && rate !== undefined && `${rate.toFixed(1)} rows/s`,
    left > 0 && wait !== undefined && `${duration(wait)} left`,
    usd !== undefined && usd > 0 && `${dollars(usd)} so far`,
    tokens > 0 && `${count(tokens)} tokens`,
  ];
  return (
    <div>
      <p>
        <b>{visible(name)}</b> <span class="soft">{visible(`${run.kind}, ${run.state}`)}</span>
      </p>
      <progress value={share} max={1} aria-label={`${name}: ${percent(share)}`} />
      <p class="note">{visible(words.filter(Boolean).join(' · '))}</p>
      {run.failures.map(({ class: failure, rows, reason }) => (
        <p class="note bad">{visible(`${failure} ${count(rows)}${reason === undefined ? '' : `: ${reason}`}`)}</p>
      ))}
    </div>
  );
}
