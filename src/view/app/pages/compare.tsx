// Runs held against the first of them, and what a gate decided: the verdict with its reasons, the differences, and what to heed.

import { domainName, meanName } from '../../../core/domains.js';
import { dimensionName } from '../../../core/table.js';
import { DIMENSIONS } from '../../../core/types.js';
import { percent } from '../../../stats/coverage.js';
import type { CompareDocument, ShownGate } from '../../documents.js';
import { type ChartLine, DifferenceChart } from '../charts.js';
import { Block, Failed, Fold, Header, type KeyFigure, KeyFigures, Loaded, Notes, ReportTable } from '../parts.js';
import { href, type PageProps } from '../route.js';
import { useDocument } from '../source.js';
import { chance, count, DASH, range, signed, visible } from '../text.js';

/** `#/compare/BASE/CANDIDATE`, and further candidates behind it. */
export function ComparePage({ route }: PageProps) {
  const [, base = '', ...candidates] = route.path;
  if (candidates.length === 0) return <Failed reason="A comparison needs two runs; choose them in the list of runs." />;
  return candidates.map((candidate) => <Versus key={candidate} base={base} candidate={candidate} />);
}

function Versus({ base, candidate }: { base: string; candidate: string }) {
  const found = useDocument(`compare/${base}/${candidate}`);
  const rows = href(['compare', base, candidate, 'samples']);
  return <Loaded of={found}>{(value) => <Verdict of={value} rows={rows} />}</Loaded>;
}

/** `#/gate`: what `awb gate --html` writes. */
export function GatePage() {
  return <Loaded of={useDocument('gate')}>{(value) => <Verdict of={value} />}</Loaded>;
}

type Comparison = NonNullable<ShownGate['comparison']>;
type Differences = Comparison['overall'];
type Difference = NonNullable<Differences['total']>;

/** @param rows where the rows are that differ */
function Verdict({ of: { base, candidate, why, gate }, rows }: { of: CompareDocument; rows?: string }) {
  const comparison = why === null ? gate?.comparison : undefined;
  return (
    <article>
      <Header title={base === null ? candidate : `${candidate} against ${base}`}>
        <Outcome gate={gate} why={why} />
        {comparison && <KeyFigures figures={keyFigures(comparison)} />}
        <Notes notes={gate?.notes ?? []} />
        {comparison && rows && (
          <p>
            <a href={rows}>Rows that differ, worst first</a>
          </p>
        )}
      </Header>
      {comparison && <Charts comparison={comparison} />}
      {gate && (
        <Block title="How it was decided">
          <Notes notes={gate.facts} />
          {why === null && gate.table.columns.length > 0 && (
            <Fold title="Rules" isOpen={gate.comparison === null}>
              <Rules gate={gate} />
            </Fold>
          )}
        </Block>
      )}
    </article>
  );
}

/** How verdicts, and results of rules, look: each has a sign of its own, so that none is told by its colour alone. */
const LOOKS: Readonly<Record<string, readonly [sign: string, look: string]>> = {
  GO: ['✓', 'good'],
  'NO-GO': ['✗', 'bad'],
  INCONCLUSIVE: ['?', 'soft'],
  INCOMPLETE: ['…', 'soft'],
  ADVICE: ['i', 'soft'],
  holds: ['✓', 'good'],
  broken: ['✗', 'bad'],
  open: ['?', 'soft'],
  'no evidence': ['…', 'soft'],
};

/** The verdict in a line, what came of the comparison, and what stands against a GO. */
function Outcome({ gate, why }: Pick<CompareDocument, 'gate' | 'why'>) {
  const [sign, look] = LOOKS[gate?.verdict ?? 'INCOMPLETE'] ?? [];
  return (
    <>
      <p class={`outcome ${look}`}>
        <span aria-hidden="true">{sign}</span> {visible(gate?.headline ?? 'These cannot be compared')}
      </p>
      {why !== null && <p>{visible(why)}</p>}
      {why === null && gate?.opening && <p>{visible(gate.opening)}</p>}
      {why === null && <Notes notes={[...(gate?.reasons ?? []), ...(gate?.further ?? [])]} />}
    </>
  );
}

function keyFigures({ overall: { total }, domains, macro_of, compared, rows, coverage }: Comparison): KeyFigure[] {
  if (total === null) return [];
  const { base, candidate, wins, ties, losses, smallest_effect: least } = total;
  const interval = range(total, signed);
  return [
    {
      title: `${nameOfMean(domains, macro_of)}, difference`,
      figure: signed(total.difference),
      under: [
        interval === undefined ? 'no interval' : `95 %: ${interval}`,
        least !== null && `${least.toFixed(1)} would have shown`,
      ],
    },
    { title: 'Candidate', figure: candidate.toFixed(1), under: [`base ${base.toFixed(1)}`] },
    { title: 'Rows won', figure: count(wins), under: [`${count(losses)} lost, ${count(ties)} tied`] },
    { title: 'Rows compared', figure: count(compared), under: [`of ${count(rows)}, ${percent(coverage)}`] },
  ];
}

function nameOfMean(domains: Comparison['domains'], macroOf: number): string {
  const compared = Object.entries(domains).filter(([, { compared }]) => compared > 0);
  return meanName(
    compared.map(([domain]) => domain),
    macroOf,
  );
}

function Charts({ comparison: { domains, overall, macro_of } }: { comparison: Comparison }) {
  const mean = nameOfMean(domains, macro_of);
  const ofDomains = Object.entries(domains).map(([domain, { total }]) => chartLine(domainName(domain), total));
  const ofDimensions = DIMENSIONS.map((dimension) => chartLine(dimensionName(dimension), overall[dimension]));
  const heads = ['Difference', 'Won/tied/lost', 'Base', 'Candidate', 'p'];
  return (
    <>
      <Block
        title="Difference by domain"
        note="Candidate minus base on the same rows, in points of 0 to 100; to the right of 0 the candidate is better. Intervals are clustered by trajectory. *: p holds among all domains, too (Holm)."
      >
        <DifferenceChart
          first="Domain"
          heads={heads}
          lines={[...ofDomains, { ...chartLine(mean, overall.total), isSum: true }]}
        />
      </Block>
      <Block title="Difference by dimension" note={`${mean}, dimension by dimension.`}>
        <DifferenceChart first="Dimension" heads={heads} lines={ofDimensions} />
      </Block>
    </>
  );
}

function chartLine(name: string, found: Difference | null): ChartLine {
  if (found === null) return { name, figure: null, cells: [DASH, DASH, DASH, DASH] };
  const { difference: value, low, high, wins, ties, losses, base, candidate, p, p_adjusted } = found;
  const star = p_adjusted !== null && p_adjusted < 0.05 ? '*' : '';
  return {
    name,
    figure: { value, low, high },
    cells: [`${wins}/${ties}/${losses}`, base.toFixed(1), candidate.toFixed(1), chance(p) + star],
  };
}

function Rules({ gate: { table } }: { gate: ShownGate }) {
  const cellOf = (text: string, _row: number, column: number) => {
    const [sign, look] = LOOKS[text.replace(/[()]/g, '')] ?? [];
    if (sign === undefined || column < table.columns.length - 1) return visible(text);
    return (
      <span class={text.startsWith('(') ? 'soft' : look}>
        <span aria-hidden="true">{sign}</span> {text}
      </span>
    );
  };
  return (
    <>
      <ReportTable table={table} cellOf={cellOf} label="Rules" />
      <Notes notes={table.legend ?? []} />
    </>
  );
}
