// A scored run as people read it: its tables, what was missing, where it is stored, and what to type next.

import type { RunCosts } from '../core/costs.js';
import { domainName } from '../core/domains.js';
import type { EquivalenceCard } from '../core/equivalence.js';
import { counted } from '../core/figures.js';
import type { MeasureLookup } from '../core/measures.js';
import { oneLine } from '../core/printable.js';
import { type Look, legendOf, terminal, wrapped } from '../core/terminal.js';
import type { DomainScore, ScoreCard } from '../core/types.js';
import { percent } from '../stats/coverage.js';
import type { RolloutCard } from '../stats/rollout-card.js';
import type { ScenarioFigures } from '../stats/scenarios.js';
import { askedNames, costTable } from './costs.js';
import { equivalenceTable } from './equivalence-table.js';
import { rolloutTables } from './rollout/tables.js';
import { domainTable, scenarioTable } from './scenarios/tables.js';
import type { ScoredRun } from './score-document.js';
import { coverageText, measureTable, officialTable, scoreTable } from './score-table.js';
import { type Trust, trustText } from './trust.js';
import { varianceText } from './variance.js';

/** How a scored run is shown. */
interface Showing {
  /** What to type next, a line each. */
  readonly steps: readonly string[];
  /** The SQLite file as people are shown it. */
  readonly db: string;
  readonly measureOf: MeasureLookup;
  readonly look: Look;
  /** Whether costs are told by domain, too. */
  readonly byDomain: boolean;
}

export function scoreText(scored: ScoredRun, { steps, db, measureOf, look, byDomain }: Showing): string {
  const { run, card, trust, id, replaced } = scored;
  const lines = [
    ...countLines(card),
    `stored: ${db} (SQLite; run ${id}${replaced ? ', replaced' : ''})`,
    ...steps.map((step, index) => `${index === 0 ? 'next: ' : '      '}${step}`),
  ];
  const blocks = [
    headOf(run, trust, look.columns),
    ...cardTables({ ...run, card, rollout: scored.rollout }, { measureOf, look, byDomain }),
    `${lines.join('\n')}\n`,
  ];
  return blocks.filter((block) => block !== undefined).join('\n');
}

/** What tables are made of. */
interface Figures {
  readonly costs?: RunCosts | undefined;
  readonly card: ScoreCard;
  /** Of an agent's decisions. */
  readonly equivalence?: EquivalenceCard | undefined;
  /** Of a rollout. */
  readonly rollout: RolloutCard | undefined;
  /** Of a run on scenarios: they take the place of its measures. */
  readonly scenarios?: ScenarioFigures | undefined;
}

/** The tables of a run: of its ratings, its measures, its rollout and its costs, as far as it has them; and how to read them. */
export function cardTables(
  { costs, card, equivalence, rollout, scenarios }: Figures,
  { measureOf, look, byDomain }: Pick<Showing, 'measureOf' | 'look' | 'byDomain'>,
): string[] {
  const curves = rollout === undefined ? [] : rolloutTables(rollout, byDomain);
  const decisions = equivalence === undefined ? [] : [equivalenceTable(equivalence)];
  const figures =
    scenarios === undefined
      ? [scoreTable(card), officialTable(card), measureTable(card, measureOf), ...decisions, ...curves]
      : [domainTable(scenarios), scenarioTable(scenarios)];
  const tables = [...figures, costTable(costs, { byDomain, names: askedNames(equivalence) })];
  const shown = tables.filter((table) => table !== undefined);
  const legend = legendOf(
    shown.flatMap((table) => table.legend ?? []),
    look,
  );
  return [...shown.map((table) => terminal(table, look)), ...(legend === '' ? [] : [legend])];
}

/** What was covered, what failed and what was odd, a line each. */
export function countLines(card: ScoreCard): string[] {
  return [
    `coverage: ${coverageText(card)}`,
    tallyLine(
      'failed',
      card.domains.map((domain) => domain.failures),
    ),
    judgementsLine(card),
    varianceLine(card),
    tallyLine(
      'flags',
      card.domains.map((domain) => domain.flags),
    ),
  ].filter((line) => line !== undefined);
}

/** What was scored, and how far its judge can be trusted. */
function headOf(run: ScoredRun['run'], trust: Trust | undefined, columns: number): string | undefined {
  const judge = trust === undefined ? [] : wrapped(trustText(trust), columns);
  const lines = [titleOf(run), ...judge].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : `${lines.join('\n')}\n`;
}

function titleOf(run: ScoredRun['run']): string | undefined {
  const parts = [
    run.label,
    run.worldModel && `world model ${run.worldModel}`,
    run.judgeModel && `${run.asked ?? 'judge'} ${run.judgeModel}`,
    run.rubricPack && `rubrics ${run.rubricPack}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : oneLine(parts.join(', '), 400);
}

/** Counts by name over all domains, the largest first; undefined where nothing was counted. */
function tallyLine(heading: string, tallies: readonly Readonly<Record<string, number>>[]): string | undefined {
  const sums = new Map<string, number>();
  for (const [name, count] of tallies.flatMap((tally) => Object.entries(tally))) {
    if (count > 0) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  if (sums.size === 0) return undefined;
  const shown = [...sums].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  return `${heading}: ${shown.join(', ')}`;
}

/** Counts are of predictions: what became of their judgements, where each has several. */
function judgementsLine({ judgements }: ScoreCard): string | undefined {
  if (judgements === undefined) return undefined;
  const failed = tallyLine('failed', [judgements.failures]);
  return `judgements: ${judgements.count}${failed === undefined ? '' : ` (${failed})`}`;
}

/** What the variance of the mean over domains is made of, where anything was repeated. */
function varianceLine({ variance, domains }: ScoreCard): string | undefined {
  const text = varianceText(
    variance,
    domains.flatMap((domain) => domain.variance ?? []),
  );
  return text && `variance: ${text}`;
}

/** The lines of a warning that names the domains below the least coverage (a share of 0 to 1); none where there is no such domain. */
export function shortLines(short: readonly DomainScore[], least: number): string[] {
  if (short.length === 0) return [];
  const rows = short.map((score) => {
    const failures = tallyLine('not valid', [score.failures]);
    return `  ${domainName(score.domain)}: ${percent(score.coverage)} of ${counted(score.chosen, 'prediction')}${failures ? ` (${failures})` : ''}`;
  });
  return [`INCOMPLETE: coverage below ${percent(least)}; these scores must not be compared with others:`, ...rows];
}
