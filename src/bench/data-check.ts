// A copy of the benchmark beside its release: rows by domain, duplicates, and contexts that are long.

import { inTableOrder } from '../domains.js';
import { quantile } from '../quantile.js';
import type { DataCheck, DomainCheck, LongRow, Place, Survey, SurveyedRow } from '../survey.js';
import type { Domain } from '../types.js';

const LONGEST = 5;

/** The release, as far as a copy is held against it. */
interface Release {
  readonly rows: Readonly<Record<Domain, number>>;
  readonly contextTokens: number;
}

export function checkRows({ files, rows, unusable }: Survey, release: Release): DataCheck {
  const byDomain = rowsByDomain(rows);
  const names = [...new Set([...Object.keys(release.rows), ...byDomain.keys()])].sort(inTableOrder);
  const long = rows.map(longRow).sort((a, b) => b.contextTokens - a.contextTokens);
  return {
    files,
    domains: names.map((domain) => domainCheck(domain, byDomain.get(domain) ?? [], release.rows[domain])),
    rows: rows.length,
    released: Object.values(release.rows).reduce((sum, count) => sum + count, 0),
    trajectories: trajectoriesIn(rows),
    unusable,
    equal: rows.flatMap(({ file, line, equals }) => (equals === undefined ? [] : [{ file, line, equals }])),
    sameTurn: sameTurns(rows),
    longest: long.slice(0, LONGEST),
    beyond: long.filter(({ contextTokens }) => contextTokens > release.contextTokens),
  };
}

function domainCheck(domain: string, rows: readonly SurveyedRow[], released: number | undefined): DomainCheck {
  const tokens = rows.map(({ contextTokens }) => contextTokens).sort((a, b) => a - b);
  const [median, longest] = [quantile(tokens, 0.5), tokens.at(-1)];
  return {
    domain,
    rows: rows.length,
    ...(released !== undefined && { released }),
    trajectories: trajectoriesIn(rows),
    ...(median !== undefined && { medianTokens: median }),
    ...(longest !== undefined && { longestTokens: longest }),
  };
}

function longRow({ file, line, domain, contextTokens }: SurveyedRow): LongRow {
  return { file, line, domain, contextTokens };
}

/** In the order of the domains' first rows. */
export function rowsByDomain(rows: readonly SurveyedRow[]): Map<Domain, SurveyedRow[]> {
  const byDomain = new Map<Domain, SurveyedRow[]>();
  for (const row of rows) {
    const own = byDomain.get(row.domain) ?? [];
    if (own.push(row) === 1) byDomain.set(row.domain, own);
  }
  return byDomain;
}

/** How many trajectories rows belong to. */
export function trajectoriesIn(rows: readonly SurveyedRow[]): number {
  return new Set(rows.map(({ trajectory }) => trajectory)).size;
}

/** Rows behind the first of their domain, id and turn, those aside that equal another one. */
function sameTurns(rows: readonly SurveyedRow[]): Place[] {
  const seen = new Set<string>();
  return rows.flatMap(({ domain, id, turnIdx, file, line, equals }) => {
    const turn = JSON.stringify([domain, id, turnIdx]);
    const isFurther = seen.has(turn) && equals === undefined;
    seen.add(turn);
    return isFurther ? [{ file, line }] : [];
  });
}
