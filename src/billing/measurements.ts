// What earlier runs measured, and what is estimated by it.

import type { EarlierRuns, Likeness, OutputBasis, TokenBasis } from '../bill.js';
import type { Domain, Usage } from '../types.js';

/** What an earlier run took. */
export interface Measurement {
  /** Its manifest, as people are shown it, and the model that it asked. */
  readonly name: string;
  readonly model: string;
  readonly like: Likeness;
  readonly domains: ReadonlyMap<Domain, DomainMeasure>;
  /** Rows that came to a record, those without a call among them. */
  readonly rows?: number;
  /** Calls, and the seconds that they took together. */
  readonly pace?: { readonly calls: number; readonly seconds: number } | undefined;
}

/** Sums over the rows that the server counted the tokens of. */
export interface DomainMeasure {
  readonly rows: number;
  readonly usage: Readonly<Usage>;
  /** Of the rows that took one call. */
  readonly counted?: { readonly rows: number; readonly chars: number; readonly promptTokens: number } | undefined;
}

/** Under which name an earlier version's run holds what it did not count by domain. */
export const ALL_DOMAINS = '';

/** Where nobody measured: what OpenAI's tokenizers come to in English. */
const GUESSED_CHARACTERS = 4;
/** Servers that report a ratio beyond these count something else. */
const [LEAST_CHARACTERS, MOST_CHARACTERS] = [0.5, 50];

/** Which runs stand for the run at hand: the first likeness of which there are any that measured it. */
const BY_MODEL: readonly (readonly Likeness[])[] = [['named'], ['settings', 'model'], ['other']];
const BY_SETTINGS: readonly (readonly Likeness[])[] = [['named'], ['settings'], ['model'], ['other']];

interface TokenRatio {
  readonly basis: Exclude<TokenBasis, { by: 'tokenizer' }>;
  charactersPerToken(domain: Domain): number;
}

/** Characters a token: a model's own, whatever it was asked for with. */
export function tokenRatio(runs: readonly Measurement[]): TokenRatio {
  const [used, like] = firstOf(runs, BY_MODEL, (run) => isRatio(ratioOf(sumCounted([run]))));
  const all = ratioOf(sumCounted(used));
  if (like === undefined || !isRatio(all)) {
    return {
      basis: { by: 'guess', charactersPerToken: GUESSED_CHARACTERS },
      charactersPerToken: () => GUESSED_CHARACTERS,
    };
  }
  const calls = sumCounted(used).rows;
  return {
    basis: { by: 'measured', charactersPerToken: all, calls, runs: namesOf(used, like) },
    charactersPerToken(domain) {
      const own = ratioOf(sumCounted(used, domain));
      return isRatio(own) ? own : all;
    },
  };
}

/** Output tokens a row, thinking and further tries included; undefined where no run measured them. */
interface OutputMeans {
  basis(domains: readonly Domain[]): OutputBasis;
  perRow(domain: Domain): number;
}

export function outputMeans(runs: readonly Measurement[]): OutputMeans | undefined {
  const [used, like] = firstOf(runs, BY_SETTINGS, (run) => sumOutput([run]).rows > 0);
  if (like === undefined) return undefined;
  const all = sumOutput(used);
  const isMeasured = (domain: Domain) => sumOutput(used, domain).rows > 0;
  return {
    basis: (domains) => ({
      rows: all.rows,
      runs: namesOf(used, like),
      guessed: domains.filter((domain) => !isMeasured(domain)),
    }),
    perRow(domain) {
      const { rows, tokens } = isMeasured(domain) ? sumOutput(used, domain) : all;
      return tokens / rows;
    },
  };
}

/** The share of prompts that servers had in their caches, 0 to 1; undefined where no run tells. */
export function cachedShare(runs: readonly Measurement[]): { share: number; runs: EarlierRuns } | undefined {
  const tells = ({ usage }: DomainMeasure) => usage.cachedTokens !== undefined && (usage.promptTokens ?? 0) > 0;
  const [used, like] = firstOf(runs, BY_SETTINGS, (run) => [...run.domains.values()].some(tells));
  if (like === undefined) return undefined;
  const told = used.flatMap((run) => [...run.domains.values()].filter(tells));
  const sum = (name: 'cachedTokens' | 'promptTokens') =>
    told.reduce((total, { usage }) => total + (usage[name] ?? 0), 0);
  return { share: Math.min(1, sum('cachedTokens') / sum('promptTokens')), runs: namesOf(used, like) };
}

/** Calls a minute; undefined where no run measured them. */
export function callsPerMinute(runs: readonly Measurement[]): { perMinute: number; runs: EarlierRuns } | undefined {
  const [used, like] = firstOf(runs, BY_SETTINGS, ({ pace }) => (pace?.calls ?? 0) > 0 && (pace?.seconds ?? 0) > 0);
  if (like === undefined) return undefined;
  const sum = (name: 'calls' | 'seconds') => used.reduce((total, { pace }) => total + (pace?.[name] ?? 0), 0);
  return { perMinute: (60 * sum('calls')) / sum('seconds'), runs: namesOf(used, like) };
}

/**
 * Calls a row, those that had to be made again among them; undefined where no run under the same settings tells. Where rows took no
 * call, it is less than what the others took.
 */
export function callsPerRow(runs: readonly Measurement[]): { perRow: number; runs: EarlierRuns } | undefined {
  const [used, like] = firstOf(runs, [['settings']], ({ pace, rows = 0 }) => (pace?.calls ?? 0) > 0 && rows > 0);
  if (like === undefined) return undefined;
  const calls = used.reduce((total, { pace }) => total + (pace?.calls ?? 0), 0);
  return { perRow: calls / used.reduce((total, { rows = 0 }) => total + rows, 0), runs: namesOf(used, like) };
}

/** The runs that measured something, of the first likeness that has any. */
function firstOf(
  runs: readonly Measurement[],
  order: readonly (readonly Likeness[])[],
  measured: (run: Measurement) => boolean,
): readonly [runs: readonly Measurement[], like: Likeness | undefined] {
  for (const likes of order) {
    const found = runs.filter((run) => likes.includes(run.like) && measured(run));
    // What holds of all of them is the weakest likeness.
    if (found.length > 0) return [found, likes.findLast((like) => found.some((run) => run.like === like))];
  }
  return [[], undefined];
}

function namesOf(runs: readonly Measurement[], like: Likeness): EarlierRuns {
  return {
    like,
    names: runs.map(({ name }) => name),
    models: [...new Set(runs.map(({ model }) => model))],
  };
}

function measuresOf(runs: readonly Measurement[], domain: Domain | undefined): DomainMeasure[] {
  return runs.flatMap(({ domains }) => (domain === undefined ? [...domains.values()] : (domains.get(domain) ?? [])));
}

function sumCounted(runs: readonly Measurement[], domain?: Domain) {
  const sum = { rows: 0, chars: 0, promptTokens: 0 };
  for (const { counted } of measuresOf(runs, domain)) {
    sum.rows += counted?.rows ?? 0;
    sum.chars += counted?.chars ?? 0;
    sum.promptTokens += counted?.promptTokens ?? 0;
  }
  return sum;
}

function sumOutput(runs: readonly Measurement[], domain?: Domain) {
  const sum = { rows: 0, tokens: 0 };
  for (const { rows, usage } of measuresOf(runs, domain)) {
    if (usage.completionTokens === undefined) continue;
    sum.rows += rows;
    sum.tokens += usage.completionTokens;
  }
  return sum;
}

function ratioOf({ chars, promptTokens }: { readonly chars: number; readonly promptTokens: number }): number {
  return promptTokens === 0 ? 0 : chars / promptTokens;
}

function isRatio(ratio: number): boolean {
  return ratio >= LEAST_CHARACTERS && ratio <= MOST_CHARACTERS;
}
