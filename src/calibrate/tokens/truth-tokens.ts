// What a true observation is made of: what action and history determine, what only a run can know, and what is merely plausible.

import type { SpecificToken } from '../../specific-tokens.js';
import { actionOf, earlierTurns, textsOf, withoutRequest } from '../../turn.js';
import type { Sample } from '../../types.js';
import type { Span } from '../json-spans.js';
import { observationOf } from '../truth.js';
import { contextAfter, FIRST, type Known, knownOf, labelOf, tokensIn } from './known.js';
import { tokensByRule } from './rules.js';
import { type RuntimeKind, runtimeTokens } from './runtime.js';
import { type Unit, unitsOf } from './units.js';

/** Kinds of what can be damaged. */
export type DeterminedKind = 'number' | 'path' | 'name' | 'state' | 'line';

/** How it is told that a token is determined. */
type Ground =
  /** The same line stands in the action, or the same key with the same value. */
  | 'action-line'
  /** The token stands in the action. */
  | 'action-token'
  /** The same line follows the same line, the last time that the history has it. */
  | 'history-line'
  /** The same words stand before it in its line, the last time that the history has them. */
  | 'history-label'
  /** A prompt that the last observation ended with. */
  | 'prompt'
  | 'rule';

export interface DeterminedToken extends Span {
  readonly kind: DeterminedKind;
  readonly ground: Ground;
}

export interface TruthTokens {
  /** The truth without its marker. Places are in it. */
  readonly text: string;
  /** In their order; none overlaps another, nor a runtime token. */
  readonly determined: readonly DeterminedToken[];
  readonly runtime: readonly (Span & { readonly kind: RuntimeKind })[];
  /** Everything that the row says, the truth left out. */
  readonly told: readonly string[];
}

/** Rows are asked for variant by variant: what was found of one is kept as long as the row itself. */
const FOUND = new WeakMap<Sample, TruthTokens>();

/** What a row's truth is made of. Time grows with the row's length alone. */
export function tokensOf(sample: Sample): TruthTokens {
  const found = FOUND.get(sample) ?? read(sample);
  FOUND.set(sample, found);
  return found;
}

function read(sample: Sample): TruthTokens {
  const text = observationOf(sample);
  const earlier = earlierTurns(sample);
  const action = withoutRequest(actionOf(sample));
  const known = knownOf(earlier, action);
  const runtime = runtimeTokens(text);
  const found = [...tokensByRule(text), ...tokensOfUnits(text, known)].sort((a, b) => a.start - b.start);
  return {
    text,
    determined: withoutOverlaps(found, runtime),
    runtime,
    told: [sample.systemPrompt, action, ...textsOf(earlier)],
  };
}

function tokensOfUnits(text: string, known: Known): DeterminedToken[] {
  const found: DeterminedToken[] = [];
  let context = FIRST;
  for (const unit of unitsOf(text)) {
    const ground = known.groundOf(unit, context);
    const tokens = tokensIn(text, unit);
    if (ground !== undefined)
      found.push(...(tokens.length > 0 ? grounded(tokens, ground) : wholly(text, unit, ground)));
    else found.push(...tokens.flatMap((token) => tokenGround(text, unit, token, known)));
    context = contextAfter(context, unit);
  }
  return found;
}

/** A line of one word is mostly form: what holds other lines together. */
const TWO_WORDS = /[\p{L}\p{N}][^\p{L}\p{N}]+[\p{L}\p{N}]/u;

function grounded(tokens: readonly SpecificToken[], ground: Ground): DeterminedToken[] {
  return tokens.map((token) => ({ ...token, ground }));
}

/** A line without a specific token can be dropped; of JSON, a number under the key of the action can be another. */
function wholly(text: string, unit: Unit, ground: Ground): DeterminedToken[] {
  if (unit.kind === 'line') return TWO_WORDS.test(unit.words) ? [{ kind: 'line', ground, ...unit.whole }] : [];
  const isNumber = ground === 'action-line' && /^-?\d+(?:\.\d+)?$/.test(text.slice(unit.start, unit.end));
  return isNumber ? [{ kind: 'number', ground, start: unit.start, end: unit.end }] : [];
}

function tokenGround(text: string, unit: Unit, token: SpecificToken, known: Known): DeterminedToken[] {
  const said = text.slice(token.start, token.end);
  if (token.kind === 'state') return [];
  if (known.actionHas(said)) return [{ ...token, ground: 'action-token' }];
  const isPrompt = unit.words.startsWith(known.prompt) && token.end <= unit.start + known.prompt.length;
  if (isPrompt) return [{ ...token, ground: 'prompt' }];
  const label = labelOf(text, unit, token);
  return label !== undefined && known.historyHas(label, said) ? [{ ...token, ground: 'history-label' }] : [];
}

/** The tokens that overlap none before them, and no runtime token. */
function withoutOverlaps(tokens: readonly DeterminedToken[], runtime: readonly Span[]): DeterminedToken[] {
  const kept: DeterminedToken[] = [];
  let next = 0;
  for (const token of tokens) {
    while (next < runtime.length && (runtime[next]?.end ?? 0) <= token.start) next++;
    const isRuntime = (runtime[next]?.start ?? Infinity) < token.end;
    if (!isRuntime && token.start >= (kept.at(-1)?.end ?? 0)) kept.push(token);
  }
  return kept;
}
