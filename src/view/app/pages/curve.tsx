// The learning curve: checkpoints of one training by step; two of them can be ticked to compare them.

import { percent } from '../../../stats/coverage.js';
import type { CurvePoint, Figure, Index, ListedRun } from '../../documents.js';
import { count, DASH, number, range } from '../../figures.js';
import { CurveSet } from '../charts.js';
import { Block, Header, Table } from '../parts.js';
import { href, type PageProps, type Route, set } from '../route.js';
import { visible } from '../text.js';

const EQUAL =
  'A series consists of runs with the same world model, protocol, judge and its sampling, rubric pack, data and --meta, except for step.';

export function CurvePage({ index, route }: PageProps) {
  const series = seriesIn(index);
  return (
    <>
      <Header title="Learning curve" lines={series.length === 0 ? [] : [EQUAL]} />
      {series.length === 0 ? <NoSeries /> : series.map((runs) => <Series runs={runs} route={route} />)}
    </>
  );
}

type Checkpoint = ListedRun & { readonly step: number };

/** The runs of each series by step; those with the most steps come first. */
function seriesIn({ runs }: Index): Checkpoint[][] {
  const series = new Map<string, Checkpoint[]>();
  for (const run of runs) {
    const { series: name, step } = run;
    if (name !== null && step !== null) series.set(name, [...(series.get(name) ?? []), { ...run, step }]);
  }
  const sorted = [...series.values()].map((own) => own.toSorted((a, b) => a.step - b.step));
  return sorted.filter((own) => own.length > 1).sort((a, b) => b.length - a.length);
}

function NoSeries() {
  return (
    <div class="empty">
      <h2>No series of checkpoints</h2>
      <p>
        Serve every checkpoint under the same model name, give its step to awb infer, and judge all of them alike. Two
        or more runs that differ only in step are drawn here.
      </p>
      <pre>awb infer --model-name my-model --label step-100 --meta step=100 ...</pre>
      <p class="note">{EQUAL}</p>
    </div>
  );
}

function Series({ runs, route }: { runs: readonly Checkpoint[]; route: Route }) {
  const [first] = runs;
  if (first === undefined) return null;
  const ticked = (route.query.get('steps') ?? '').split(',');
  const chosen = runs.filter(({ ref }) => ticked.includes(ref));
  const domains = [...new Map(runs.flatMap((run) => run.domains.map(({ domain, name }) => [domain, name])))];
  const made = [first.protocol, first.judge && `judged by ${first.judge}`, first.rubricPack].filter(Boolean);
  const overall = { name: first.lead.name, isSum: true, points: pointsOf(runs, chosen, (run) => run.overall) };
  const parts = domains.map(([domain, name]) => {
    const figureOf = (run: Checkpoint) => run.domains.find((own) => own.domain === domain)?.estimate ?? null;
    return { name, isSum: false, points: pointsOf(runs, chosen, figureOf) };
  });
  return (
    <Block title={first.worldModel ?? first.name} note={made.join(', ')}>
      <CurveSet look="curves large" of={{ ends: REACHED, curves: [overall] }} />
      <CurveSet of={{ ends: REACHED, curves: parts }} />
      <Steps runs={runs} chosen={chosen} route={route} />
    </Block>
  );
}

/** The scale ends where the figures do: the effects of training would hardly be visible on a scale of 0 to 100. */
const REACHED = [null, null] as const;

/** Positions are proportional to the step, not to its index. */
function pointsOf(
  runs: readonly Checkpoint[],
  chosen: readonly Checkpoint[],
  figureOf: (run: Checkpoint) => Figure | null,
): CurvePoint[] {
  const steps = runs.map(({ step }) => step);
  const [least, span] = [Math.min(...steps), Math.max(...steps) - Math.min(...steps) || 1];
  return runs.flatMap((run) => {
    const figure = figureOf(run);
    const at = (run.step - least) / span;
    return figure ? [{ at, label: count(run.step), figure, isChosen: chosen.includes(run) }] : [];
  });
}

/** The steps of a series; of two ticked ones, the later is compared with the earlier. */
function Steps({ runs, chosen, route }: { runs: readonly Checkpoint[]; chosen: readonly Checkpoint[]; route: Route }) {
  const tick = (ref: string) => {
    const refs = chosen.map((run) => run.ref);
    const next = refs.includes(ref) ? refs.filter((other) => other !== ref) : [...refs, ref];
    set(route, { steps: next.join(',') });
  };
  const [base, candidate, ...others] = chosen;
  const isPair = base !== undefined && candidate !== undefined && others.length === 0;
  const rows = runs.map((run) => ({
    cells: [
      <label class="tick">
        <input type="checkbox" checked={chosen.includes(run)} onChange={() => tick(run.ref)} />
        <span class="unseen">Step </span>
        {count(run.step)}
      </label>,
      <a href={href(['run', run.ref])}>{visible(run.name)}</a>,
      number(run.overall, run.lead.decimals),
      <span class="note">{range(run.overall, (value) => value.toFixed(run.lead.decimals)) ?? DASH}</span>,
      percent(run.coverage),
    ],
  }));
  return (
    <>
      <Table
        label="Steps"
        columns={[
          { heading: 'Step' },
          { heading: 'Run' },
          { heading: runs[0]?.lead.name, kind: 'figure' },
          { heading: '95 % interval', kind: 'figure' },
          { heading: 'Coverage', kind: 'figure', isWide: true },
        ]}
        rows={rows}
      />
      <p class="soft" role="status">
        {isPair ? (
          <a class="button" href={href(['compare', base.ref, candidate.ref])}>
            {`Compare step ${count(candidate.step)} with step ${count(base.step)}`}
          </a>
        ) : (
          'Tick two steps to compare them.'
        )}
      </p>
    </>
  );
}
