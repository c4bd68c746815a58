// Domains as people see them: in which order, and under which names; and how many rows of each were released.

import { groupBy, type Some } from './groups.js';
import { oneLine } from './printable.js';
import { DOMAINS, type Domain } from './types.js';

const PUBLISHED: readonly Domain[] = DOMAINS;

/** Longest name that is shown whole. */
const NAME_COLUMNS = 16;

/** What the published ones are called, in their order. */
const DISPLAY_NAMES = ['MCP', 'Search', 'Terminal', 'SWE', 'Android', 'Web', 'OS'];

/** A domain as tables and progress name it; a name that is not published is shown as it is, made safe for the terminal. */
export function domainName(domain: Domain): string {
  return DISPLAY_NAMES[PUBLISHED.indexOf(domain)] ?? oneLine(domain, NAME_COLUMNS);
}

/** Sorts domains as tables list them: those of the published table in its order, others after them by name. */
export function inTableOrder(a: Domain, b: Domain): number {
  return placeOf(a) - placeOf(b) || (a < b ? -1 : Number(a > b));
}

/** The items of each domain, the domains as tables list them. */
export function inDomains<T extends { readonly domain: Domain }>(items: Iterable<T>): [Domain, Some<T>][] {
  return [...groupBy(items, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
}

/** Whether all seven published domains are among these (each once), so that there is an Overall. */
export function coversBenchmark(domains: readonly Domain[]): boolean {
  return domains.filter(isPublished).length === DOMAINS.length;
}

/**
 * Of which domains a mean over domains is: of the seven published ones where all are there, so that Overall stays what is published
 * whatever stands beside them; else of all.
 */
export function domainsOfMean(domains: readonly Domain[]): readonly Domain[] {
  return coversBenchmark(domains) ? domains.filter(isPublished) : domains;
}

/** The name of a mean over `count` of these domains: `Overall` where it is of the seven published ones alone, else of how many. */
export function meanName(domains: readonly Domain[], count: number): string {
  return coversBenchmark(domains) && count === DOMAINS.length ? 'Overall' : `macro of ${count}`;
}

export function isPublished(domain: Domain): boolean {
  return PUBLISHED.includes(domain);
}

function placeOf(domain: Domain): number {
  return isPublished(domain) ? PUBLISHED.indexOf(domain) : PUBLISHED.length;
}

// The benchmark as it was released: what a copy of it is measured by.

export const RELEASED = {
  /** On the Hugging Face Hub, as a dataset. */
  repository: 'Qwen/AgentWorldBench',
  /** What is fetched unless another revision is named, so that everybody has the same rows. */
  commit: '6b8d28437042434dcdd168434227ca0de408c5ba',
  /** Rows by domain. */
  rows: { mcp: 286, search: 458, terminal: 354, swe: 472, android: 200, web: 200, os: 200 },
  /** Of the model's context: a longer row cannot be asked. */
  contextTokens: 262_144,
} as const satisfies { readonly rows: Readonly<Record<(typeof DOMAINS)[number], number>> } & Record<string, unknown>;
