// A run held against another, or against what it has to reach, as a document: the gate's report with the comparison in it, and its page.

import { domainName, meanName } from '../core/domains.js';
import { UserError } from '../core/errors.js';
import { dimensionName } from '../core/table.js';
import { DIMENSIONS } from '../core/types.js';
import { openingOf } from '../report/comparison.js';
import { factsOf, type GateReport, gateDocument, headlineOf, reasonsIn, ruleTable } from '../report/gate.js';
import { isOneRun } from '../results/comparability.js';
import { gateReport } from '../results/gate.js';
import type { ReadRun } from '../results/read-run.js';
import { percent } from '../stats/coverage.js';
import { defaultPolicy } from '../stats/policy.js';
import type { Cell, CompareDocument, KeyFigure, PageBlock } from './documents.js';
import { type ChartLine, chance, count, DASH, differenceChart, rangeBelow, signed, withNotes } from './figures.js';

/** Two runs compared, and what the gate says of the candidate by the policy that needs no file. */
export function compareDocument(base: ReadRun, candidate: ReadRun): CompareDocument {
  const apart = (why: string): CompareDocument => ({
    ...{ base: base.name, candidate: candidate.name, why, gate: null },
    page: {
      title: `${candidate.name} against ${base.name}`,
      outcome: marked('INCOMPLETE', 'These cannot be compared'),
      said: [why],
      blocks: [],
    },
  });
  if (isOneRun({ base, candidate })) return apart('This is one and the same run; choose two.');
  const domains = new Set([...base.rows, ...candidate.rows].map(({ domain }) => domain));
  try {
    return verdictDocument(gateReport({ base, candidate }, defaultPolicy({}, [...domains])));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return apart(error.message);
  }
}

/** What a gate decided. */
export function verdictDocument(report: GateReport): CompareDocument {
  const { base, candidate, comparison, rules, verdict, further } = report;
  const apart = rules.filter(({ kind, verdict }) => kind === 'identity' && verdict === 'INCOMPLETE');
  const why = apart.map(({ sentence }) => sentence).join(' ') || null;
  const gate = gateDocument(report);
  const opening = base && comparison ? openingOf({ base, candidate, comparison }) : null;
  const compared = why === null ? gate.comparison : null;
  return {
    ...{ base: base?.name ?? null, candidate: candidate.name, why, gate: { ...gate, opening } },
    page: {
      title: base === undefined ? candidate.name : `${candidate.name} against ${base.name}`,
      outcome: marked(verdict, headlineOf(report)),
      said: [why ?? opening ?? []].flat(),
      reasons: why === null ? [...reasonsIn(report), ...further] : [],
      ...(compared && { figures: keyFigures(compared) }),
      notes: gate.notes,
      blocks: [
        ...(compared === null ? [] : differences(compared)),
        {
          title: 'How it was decided',
          notes: factsOf(report),
          folds: why === null ? ruleFolds(report, gate.comparison === null) : [],
        },
      ],
    },
  };
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

/** A text under the sign of a verdict. What a gate does not heed stands in parentheses. */
function marked(verdict: string, text = verdict): Cell {
  const [sign, look] = LOOKS[verdict.replace(/[()]/g, '')] ?? ['', ''];
  return { text: `${sign} ${text}`, look: verdict.startsWith('(') ? 'soft' : look };
}

function ruleFolds(report: GateReport, isOpen: boolean) {
  const table = ruleTable(report);
  if (table.columns.length === 0) return [];
  const groups = table.groups.map((rows) => rows.map((row) => [...row.slice(0, -1), marked(row.at(-1) ?? '')]));
  return [{ title: 'Rules', isOpen, blocks: [{ tables: [{ ...withNotes(table), groups }] }] }];
}

type Comparison = NonNullable<ReturnType<typeof gateDocument>['comparison']>;
type Difference = NonNullable<Comparison['overall']['total']>;

function keyFigures({ overall: { total }, domains, macro_of, compared, rows, coverage }: Comparison): KeyFigure[] {
  if (total === null) return [];
  const { base, candidate, wins, ties, losses, smallest_effect: least } = total;
  return [
    {
      title: `${nameOfMean(domains, macro_of)}, difference`,
      figure: signed(total.difference),
      under: [rangeBelow(total, signed), ...(least === null ? [] : [`${least.toFixed(1)} would have shown`])],
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

function differences({ domains, overall, macro_of }: Comparison): PageBlock[] {
  const mean = nameOfMean(domains, macro_of);
  const ofDomains = Object.entries(domains).map(([domain, { total }]) => chartLine(domainName(domain), total));
  const ofDimensions = DIMENSIONS.map((dimension) => chartLine(dimensionName(dimension), overall[dimension]));
  const headings = ['Difference', 'Won/tied/lost', 'Base', 'Candidate', 'p'] as const;
  return [
    {
      title: 'Difference by domain',
      note: 'Candidate minus base on the same rows, in points of 0 to 100; to the right of 0 the candidate is better. Intervals are clustered by trajectory. *: p holds among all domains, too (Holm).',
      tables: [differenceChart(['Domain', ...headings], ofDomains, [chartLine(mean, overall.total)])],
    },
    {
      title: 'Difference by dimension',
      note: `${mean}, dimension by dimension.`,
      tables: [differenceChart(['Dimension', ...headings], ofDimensions)],
    },
  ];
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
