// What both readings of a verdict share: what one is, what its scores come to, and what its remarks are.

import { readFacts } from '../facts.js';
import type { Ratings, Verdict } from '../types.js';
import type { Json, JsonObject } from './python-json.js';
import { pythonInt, pythonRepr } from './python-values.js';

type Unreadable = Verdict & { readonly status: 'unreadable' };

export function unreadable(reason: string): Unreadable {
  return { status: 'unreadable', reason };
}

/** The verdict of these ratings, with the remarks and the checklist that stand beside them. */
export function accepted(verdict: JsonObject, ratings: Ratings): Verdict {
  const rated = Object.values(ratings).filter((rating) => rating > 0);
  return {
    status: 'ok',
    ratings,
    total: rated.length === 0 ? 0 : rated.reduce((sum, rating) => sum + rating) / rated.length,
    strengths: remarks(verdict.get('strengths')),
    weaknesses: remarks(verdict.get('weaknesses')),
    // A checklist that cannot be read costs no verdict: the ratings are the judge's own, whatever stands beside them.
    ...(verdict.has('facts') ? { facts: readFacts(plain(verdict.get('facts'))) } : {}),
  };
}

function plain(value: Json | undefined): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries(Array.from(value, ([key, item]) => [key, plain(item)])) : value;
}

function remarks(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.map((item) => (typeof item === 'string' ? item : pythonRepr(item)));
  return typeof value === 'string' && value !== '' ? [value] : [];
}

/** A score as a whole number before any clamping: rounded half to even, a string up to its first `/`; undefined for anything else. */
export function wholeNumber(score: Json | undefined): number | undefined {
  if (typeof score === 'string') return pythonInt(score.split('/', 1)[0] ?? '');
  if (typeof score === 'bigint' || typeof score === 'boolean') return Number(score);
  if (typeof score !== 'number' || !Number.isFinite(score)) return undefined;
  const below = Math.floor(score);
  const above = score - below - 0.5;
  return above > 0 || (above === 0 && below % 2 !== 0) ? below + 1 : below;
}
