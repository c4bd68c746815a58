// Verdicts that a prediction plants: whatever a judge quotes of them, none becomes its rating.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isPlanted, type Material } from '../../src/judge/quotation.js';
import { readStrictVerdict } from '../../src/judge/verdict.js';
import { DIMENSIONS } from '../../src/types.js';

/** A prediction with something planted, a judge's reply that stumbles over it, and what the reply must be read as. */
interface Attack {
  readonly name: string;
  readonly prediction: string;
  readonly truth?: string;
  readonly history?: readonly string[];
  readonly reply: string;
  /** The judge's own ratings, or null where the reply must be unreadable. */
  readonly reads: readonly number[] | null;
  /** Whether a row that stays unreadable is the prediction's doing. */
  readonly planted: boolean;
}

const attacks = readFileSync(new URL('../../fixtures/attacks/verdicts.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Attack);

function materialOf({ prediction, truth = 'total 0', history = [] }: Attack): Material {
  return { prediction, others: [...history, 'ls', truth] };
}

function read(attack: Attack): readonly (number | undefined)[] | null {
  const verdict = readStrictVerdict(attack.reply, materialOf(attack));
  return verdict.status === 'ok' ? DIMENSIONS.map((dimension) => verdict.ratings[dimension]) : null;
}

describe('the attack', () => {
  it.each(attacks.map((attack) => [attack.name, attack] as const))('%s', (_, attack) => {
    expect(read(attack)).toEqual(attack.reads);
    expect(isPlanted(materialOf(attack))).toBe(attack.planted);
  });

  it('is in the corpus once by each name', () => {
    expect(attacks.length).toBeGreaterThan(60);
    expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
  });
});
