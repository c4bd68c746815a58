// Slots in the texts of a scenario: `{path}` stands for what a named group of its conditions caught. Any other brace is itself.

import type { Groups } from './pattern.js';
import type { JsonExpectation, Pattern, Verifier } from './scenario.js';

/** Not what a pattern says of characters, such as `\p{sc}` and `\u{e9}`. */
const SLOT = /(?<!\\[pPu])\{([a-z]\w*)\}/g;

/** The names of the slots in a text, each once. */
export function slotsIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(SLOT), ([, name = '']) => name))];
}

/** The text with its slots filled; one without a value stays as it is. */
export function withSlots(text: string, values: Groups, put: (value: string) => string = (value) => value): string {
  return text.replace(SLOT, (slot, name: string) => (Object.hasOwn(values, name) ? put(values[name] ?? '') : slot));
}

/** A pattern's source with its slots filled by values that stand for themselves. */
export function sourceWithSlots(source: string, values: Groups): string {
  return withSlots(source, values, (value) => value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
}

/** What a text says in words of its own: the pieces between slots, addresses and quoted texts, which are meant to appear elsewhere. */
export function ownWordsOf(text: string): string[] {
  return text.split(/\{[a-z]\w*\}|`[^`]*`|"[^"\n]*"|“[^”]*”|[a-z]+:\/\/\S+/).filter((piece) => /\p{L}/u.test(piece));
}

/** The verifier with the slots of its texts filled, in patterns by values that stand for themselves. */
export function verifierWithSlots(verifier: Verifier, groups: Groups): Verifier {
  switch (verifier.kind) {
    case 'contains':
    case 'lacks':
      return { ...verifier, texts: verifier.texts.map((text) => withSlots(text, groups)) };
    case 'matches':
      return { ...verifier, pattern: patternOf(verifier.pattern, groups) };
    case 'json_path':
      return {
        ...verifier,
        path: withSlots(verifier.path, groups),
        expect: expectationOf(verifier.expect, groups),
      };
    case 'unchanged_elsewhere':
      return verifier.except === undefined ? verifier : { ...verifier, except: patternOf(verifier.except, groups) };
    case 'exit_status':
      return verifier;
    default:
      return verifier satisfies never;
  }
}

function patternOf(pattern: Pattern, groups: Groups): Pattern {
  return { ...pattern, source: sourceWithSlots(pattern.source, groups) };
}

function expectationOf(expect: JsonExpectation, groups: Groups): JsonExpectation {
  if ('matches' in expect) return { matches: patternOf(expect.matches, groups) };
  if ('equals' in expect && typeof expect.equals === 'string') return { equals: withSlots(expect.equals, groups) };
  return expect;
}

/** The texts of a verifier that may hold slots. */
export function textsIn(verifier: Verifier): readonly string[] {
  switch (verifier.kind) {
    case 'contains':
    case 'lacks':
      return verifier.texts;
    case 'matches':
      return [verifier.pattern.source];
    case 'unchanged_elsewhere':
      return verifier.except === undefined ? [] : [verifier.except.source];
    case 'json_path':
      return [
        verifier.path,
        ...('matches' in verifier.expect ? [verifier.expect.matches.source] : []),
        ...('equals' in verifier.expect && typeof verifier.expect.equals === 'string' ? [verifier.expect.equals] : []),
      ];
    case 'exit_status':
      return [];
    default:
      return verifier satisfies never;
  }
}
