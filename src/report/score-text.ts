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
import type { RolloutCard } from '../stats/rollout.js';
import type { ScenarioFigures } from '../stats/scenarios.js';
import { askedNames, costTable } from './costs.js';
import { rolloutTables } from './rollout/tables.js';
import { domainTable, scenarioTable } from './scenarios/tables.js';
import type { ScoredRun } from './score-document.js';
import { equivalenceTable, leastText, measureTable, officialTable, scoreTable } from './score-table.js';
import { trustText, varianceText } from './trust.js';

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
  const title = [
    run.label,
    run.worldModel && `world model ${run.worldModel}`,
    run.judgeModel && `${run.asked ?? 'judge'} ${run.judgeModel}`,
    run.rubricPack && `rubrics ${run.rubricPack}`,
  ].filter((part) => part !== undefined);
  const head = [
    ...(title.length === 0 ? [] : [oneLine(title.join(', '), 400)]),
    ...(trust === undefined ? [] : wrapped(trustText(trust), look.columns)),
  ];
  const lines = [
    ...countLines(card),
    `stored: ${db} (SQLite; run ${id}${replaced ? ', replaced' : ''})`,
    ...steps.map((step, index) => `${index === 0 ? 'next: ' : '      '}${step}`),
  ];
  return [
    ...(head.length === 0 ? [] : [`${head.join('\n')}\n`]),
    ...cardTables({ ...run, card, rollout: scored.rollout }, { measureOf, look, byDomain }),
    `${lines.join('\n')}\n`,
  ].join('\n');
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

/** What was covered, what failed and what was odd, a line each. Counts are of predictions; those of judgements stand beside them. */
export function countLines(card: ScoreCard): string[] {
  const { coverage, domains, judgements, variance } = card;
  const least = leastText(card);
  const tally = (heading: string, name: 'failures' | 'flags') =>
    tallyLine(
      heading,
      domains.map((domain) => domain[name]),
    );
  const failed = judgements && tallyLine('failed', [judgements.failures]);
  // What the variance of the mean over domains is made of, where anything was repeated.
  const parts = varianceText(
    variance,
    domains.flatMap((domain) => domain.variance ?? []),
  );
  return [
    `coverage: ${percent(coverage)}${least === undefined ? '' : ` (${least})`}`,
    tally('failed', 'failures'),
    judgements && `judgements: ${judgements.count}${failed === undefined ? '' : ` (${failed})`}`,
    parts && `variance: ${parts}`,
    tally('flags', 'flags'),
  ].filter((line) => line !== undefined);
}

/** Counts by name over all domains, the largest first; undefined where nothing was counted. */
function tallyLine(heading: string, tallies: readonly Readonly<Record<string, number>>[]): string | undefined {
  const sums = new Map<string, number>();
  for (const [name, count] of tallies.flatMap((tally) => Object.entries(tally))) {
    if (count > 0) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  const shown = [...sums].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  return shown.length === 0 ? undefined : `${heading}: ${shown.join(', ')}`;
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
