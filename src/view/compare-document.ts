// A run compared with another, or checked against requirements, as a document: the gate's report with the comparison, and its page.

import { UserError } from '../core/errors.js';
import { dimensionName, notesBelow, partsOf } from '../core/table.js';
import { DIMENSIONS } from '../core/types.js';
import { differenceTable, meanIn, openingOf, TELLING } from '../report/comparison.js';
import { factsOf, type GateReport, gateDocument, headlineOf, reasonsIn, ruleTable } from '../report/gate.js';
import { isOneRun } from '../results/comparability.js';
import { gateReport } from '../results/gate.js';
import type { ReadRun } from '../results/read-run.js';
import type { Comparison } from '../stats/compare.js';
import { percent } from '../stats/coverage.js';
import { defaultPolicy } from '../stats/policy.js';
import type { Cell, CompareDocument, KeyFigure, PageBlock, ShownTable } from './documents.js';
import { count, rangeBelow, signed, withNotes } from './figures.js';

/** Compares two runs, and applies the gate's default policy to the candidate. */
export function compareDocument(base: ReadRun, candidate: ReadRun): CompareDocument {
  const apart = (why: string): CompareDocument => ({
    gate: null,
    page: {
      title: `${candidate.name} against ${base.name}`,
      outcome: marked('INCOMPLETE', 'These runs cannot be compared'),
      said: [why],
      blocks: [],
    },
  });
  if (isOneRun({ base, candidate })) return apart('Both are the same run; choose two.');
  const domains = new Set([...base.rows, ...candidate.rows].map(({ domain }) => domain));
  try {
    return verdictDocument(gateReport({ base, candidate }, defaultPolicy({}, [...domains])));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return apart(error.message);
  }
}

/** A gate's decision as a document. */
export function verdictDocument(report: GateReport): CompareDocument {
  const { base, candidate, comparison, rules, verdict, further } = report;
  const apart = rules.filter(({ kind, verdict }) => kind === 'identity' && verdict === 'INCOMPLETE');
  const why = apart.map(({ sentence }) => sentence).join(' ') || null;
  const gate = gateDocument(report);
  const opening = base && comparison ? openingOf({ base, candidate, comparison }) : null;
  const compared = why === null ? comparison : undefined;
  return {
    gate: { ...gate, opening },
    page: {
      title: base === undefined ? candidate.name : `${candidate.name} against ${base.name}`,
      outcome: marked(verdict, headlineOf(report)),
      said: [why ?? opening ?? []].flat(),
      reasons: why === null ? [...reasonsIn(report), ...further] : [],
      ...(compared && { figures: keyFigures(compared) }),
      notes: gate.notes,
      blocks: [
        ...(compared ? differences(compared) : []),
        {
          title: 'How this was decided',
          notes: factsOf(report),
          folds: why === null ? ruleFolds(report, comparison === undefined) : [],
        },
      ],
    },
  };
}

/** The looks of verdicts and rule results: each has its own sign, so that none depends on colour alone. */
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

/** A text with the sign of a verdict. Results that the gate ignores are in parentheses. */
function marked(verdict: string, text = verdict): Cell {
  const [sign, look] = LOOKS[verdict.replace(/[()]/g, '')] ?? ['', ''];
  return { text: `${sign} ${text}`, look: verdict.startsWith('(') ? 'soft' : look };
}

function ruleFolds(report: GateReport, isOpen: boolean) {
  const table = ruleTable(report);
  if (table.columns.length === 0) return [];
  const groups = table.groups.map((rows) => rows.map((row) => [...row.slice(0, -1), marked(partsOf(row.at(-1)).text)]));
  return [{ title: 'Rules', isOpen, blocks: [{ tables: [{ ...withNotes(table), groups }] }] }];
}

function keyFigures(comparison: Comparison): KeyFigure[] {
  const { total } = comparison.overall;
  if (total === undefined) return [];
  const { difference, base, candidate, wins, ties, losses, smallestEffect: least } = total;
  return [
    {
      title: `${meanIn(comparison).name}, difference`,
      figure: signed(difference.value),
      under: [rangeBelow(difference, signed), ...(least === undefined ? [] : [`detects ${least.toFixed(1)}`])],
    },
    { title: 'Candidate', figure: candidate.toFixed(1), under: [`base ${base.toFixed(1)}`] },
    { title: 'Rows won', figure: count(wins), under: [`${count(losses)} lost, ${count(ties)} tied`] },
    {
      title: 'Rows compared',
      figure: count(comparison.compared),
      under: [`of ${count(comparison.rows)}, ${percent(comparison.coverage)}`],
    },
  ];
}

/** Names of dimensions on pages. */
const NAMES = new Map<string, string>(DIMENSIONS.map((dimension) => [dimension, dimensionName(dimension)]));

/** The terminal's table, drawn: its domains with Overall, and Overall's dimensions. */
function differences(comparison: Comparison): PageBlock[] {
  const { columns, groups, figures, ...notes } = differenceTable(comparison);
  const part = (first: string, from: number, to: number): ShownTable => ({
    columns: columns.map(({ heading, align }, at) => ({
      heading: at === 0 ? first : heading,
      align,
      isWide: at > 0 && !TELLING.includes(at),
    })),
    groups: groups
      .slice(from, to)
      .map((rows) => rows.map(([name = '', ...cells]) => [NAMES.get(partsOf(name).text) ?? name, ...cells])),
    drawings: { ends: 'around 0', figures: figures.slice(from, to).flat() },
  });
  return [
    {
      title: 'Difference by domain',
      note: 'Candidate minus base on the same rows, in points of 0 to 100; right of 0, the candidate is better.',
      tables: [part('Domain', 0, 2)],
    },
    { title: 'Difference by dimension', tables: [{ ...part('Dimension', 2, 3), footnotes: notesBelow(notes) }] },
  ];
}
