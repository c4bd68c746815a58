// What happened before the turn of a sample, folded turn by turn.

import { fold, make } from './dom.js';
import { count, sizeOf } from './numbers.js';
import { block } from './visible.js';

/** @param said action and observation of each earlier turn, one after the other */
export function historyFold(said: readonly string[]): HTMLElement {
  const turns = Array.from({ length: said.length / 2 }, (_, turn) => said.slice(2 * turn, 2 * turn + 2));
  const size = `${count(turns.length)}${turns.length === 1 ? ' earlier turn, ' : ' earlier turns, '}`;
  return fold('History', size + sizeOf(...said), () =>
    turns.map((turn, at) =>
      fold(`Turn ${at + 1}`, sizeOf(...turn), () =>
        turn.flatMap((text, place) => [make('h4', {}, place === 0 ? 'Action' : 'Observation'), block(text)]),
      ),
    ),
  );
}
