// How many of the tokens taken to be determined really are: checked by hand, one by one, and kept in a fixture.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { domainName } from '../../../src/core/domains.js';
import { present } from '../../../src/core/errors.js';
import { type Random, randomOf } from '../../../src/core/random.js';
import { DOMAINS, type Sample } from '../../../src/core/types.js';
import { type DeterminedToken, tokensOf } from '../../../src/judge/calibrate/tokens.js';
import { determinedPrecision } from '../../../src/stats/calibration/limits.js';
import { RECORDED } from '../../support/subjects.js';

interface Labelled {
  readonly domain: string;
  readonly row: number;
  readonly turn: number;
  readonly start: number;
  readonly kind: string;
  readonly ground: string;
  readonly context: string;
  readonly isDetermined: boolean;
}

const LABELLED: readonly Labelled[] = JSON.parse(readFileSync('fixtures/calibrate/determined.json', 'utf8')).tokens;
const MOST = 100;

interface Drawn {
  readonly row: number;
  readonly turn: number;
  readonly token: DeterminedToken;
}

/** Up to 100 tokens per domain: from the recorded rows, or, if those have fewer, from the other turns of their trajectories. */
function drawnFrom(domain: string): Drawn[] {
  const rows = RECORDED.filter((sample) => sample.domain === domain);
  const random = randomOf(100);
  const own = shuffled(rows.flatMap(tokensIn), random).slice(0, MOST);
  const others = rows.flatMap((sample, row) => {
    const same = rows.filter(({ trajectory }) => trajectory === sample.trajectory);
    if (same.at(-1) !== sample) return [];
    const turns = Array.from({ length: sample.turnIdx - 2 }, (_, place) => place + 2);
    const free = turns.filter((turn) => same.every(({ turnIdx }) => turnIdx !== turn));
    return free.flatMap((turnIdx) => tokensIn({ ...sample, turnIdx, currentPrompt: '' }, row));
  });
  const drawn = [...own, ...shuffled(others, random).slice(0, MOST - own.length)];
  return drawn.sort((a, b) => a.row - b.row || a.turn - b.turn || a.token.start - b.token.start);
}

function tokensIn(sample: Sample, row: number): Drawn[] {
  return tokensOf(sample).determined.map((token) => ({ row, turn: sample.turnIdx, token }));
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const order = [...list];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random.uniform() * (last + 1));
    [order[last], order[other]] = [present(order[other]), present(order[last])];
  }
  return order;
}

describe('the hand-checked tokens', () => {
  it.each(DOMAINS)('are a random draw from what is found in %s today', (domain) => {
    const found = drawnFrom(domain).map(({ row, turn, token: { start, kind, ground } }) => ({
      row,
      turn,
      start,
      kind,
      ground,
    }));
    const read = LABELLED.filter((token) => token.domain === domain);
    expect(read.map(({ row, turn, start, kind, ground }) => ({ row, turn, start, kind, ground }))).toEqual(found);
  });

  it('have the printed precision, at least 19 of 20 in every domain', () => {
    for (const domain of DOMAINS) {
      const read = LABELLED.filter((token) => token.domain === domain);
      const right = read.filter(({ isDetermined }) => isDetermined).length;
      const said = `Determined tokens, precision by hand: ${right} of ${read.length} in ${domainName(domain)}.`;
      expect(determinedPrecision([domain])).toBe(said);
      expect(right / read.length).toBeGreaterThanOrEqual(0.95);
    }
  });

  it('are shown to readers within the surrounding words', () => {
    for (const { context } of LABELLED) expect(context).toMatch(/⟦[\s\S]+⟧/);
  });
});
