// Domains as people see them: their order, their names, and how many rows of each were released.

import { groupBy, type Some } from './groups.js';
import { oneLine } from './printable.js';
import { DOMAINS, type Domain } from './types.js';

const PUBLISHED: readonly Domain[] = DOMAINS;

/** The longest name that is shown in full. */
const NAME_COLUMNS = 16;

/** Display names of the published domains, in their order. */
const DISPLAY_NAMES = ['MCP', 'Search', 'Terminal', 'SWE', 'Android', 'Web', 'OS'];

/** A domain's name in tables and progress; an unpublished name is shown unchanged, but made safe for the terminal. */
export function domainName(domain: Domain): string {
  return DISPLAY_NAMES[PUBLISHED.indexOf(domain)] ?? oneLine(domain, NAME_COLUMNS);
}

/** Sorts domains as tables list them: published ones in the published order, then others by name. */
export function inTableOrder(a: Domain, b: Domain): number {
  return placeOf(a) - placeOf(b) || (a < b ? -1 : Number(a > b));
}

/** The items of each domain, in the order in which tables list domains. */
export function inDomains<T extends { readonly domain: Domain }>(items: Iterable<T>): [Domain, Some<T>][] {
  return [...groupBy(items, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
}

/** Whether all seven published domains are among these (each once), so that there is an Overall. */
export function coversBenchmark(domains: readonly Domain[]): boolean {
  return domains.filter(isPublished).length === DOMAINS.length;
}

/**
 * The domains in a mean over domains: only the seven published ones if all are there, so that other domains do not change Overall; else
 * all.
 */
export function domainsOfMean(domains: readonly Domain[]): readonly Domain[] {
  return coversBenchmark(domains) ? domains.filter(isPublished) : domains;
}

/** The name of a mean over `count` of these domains: `Overall` if it covers exactly the seven published ones, else the count. */
export function meanName(domains: readonly Domain[], count: number): string {
  return coversBenchmark(domains) && count === DOMAINS.length ? 'Overall' : `macro of ${count}`;
}

export function isPublished(domain: Domain): boolean {
  return PUBLISHED.includes(domain);
}

function placeOf(domain: Domain): number {
  return isPublished(domain) ? PUBLISHED.indexOf(domain) : PUBLISHED.length;
}

// The benchmark as it was released, to compare copies with.

export const RELEASED = {
  /** On the Hugging Face Hub, as a dataset. */
  repository: 'Qwen/AgentWorldBench',
  /** The revision to download unless another is named, so that everybody has the same rows. */
  commit: '6b8d28437042434dcdd168434227ca0de408c5ba',
  /** Rows by domain. */
  rows: { mcp: 286, search: 458, terminal: 354, swe: 472, android: 200, web: 200, os: 200 },
  /** Of the model's context: a longer row cannot be asked. */
  contextTokens: 262_144,
} as const satisfies { readonly rows: Readonly<Record<(typeof DOMAINS)[number], number>> } & Record<string, unknown>;
