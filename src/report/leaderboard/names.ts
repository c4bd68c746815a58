// What runs are called in a leaderboard.

import { oneLine } from '../../printable.js';
import type { BoardOptions, BoardRun } from './board.js';

/** Longest name that is shown whole. */
export const NAME_COLUMNS = 100;

/** A run's own name, of one line. */
export function nameOf(run: BoardRun, per: BoardOptions['per']): string {
  const names = per === 'label' ? [run.label, run.worldModel] : [run.worldModel, run.label];
  const name = names.map((text) => oneLine(text ?? '', NAME_COLUMNS)).find((text) => text !== '');
  return name ?? oneLine(run.source.split(/[/\\]/).slice(-2).join('/'), NAME_COLUMNS);
}

/** Each run with its name. Behind a name that several runs have stands what tells them apart: step, date or number. */
export function named(runs: readonly BoardRun[], { per }: BoardOptions): (readonly [BoardRun, string])[] {
  const byRun = runs.map((run) => [run, nameOf(run, per)] as const);
  return byRun.map(([run, name]) => {
    const alike = byRun.filter(([, other]) => other === name).map(([other]) => other);
    return [run, alike.length === 1 ? name : `${name} (${detailsOf(run, alike)})`];
  });
}

function detailsOf(run: BoardRun, alike: readonly BoardRun[]): string {
  const sameFile = new Set(alike.map(({ db }) => db)).size === 1;
  const details = (one: BoardRun) => [
    one.step === undefined ? undefined : `step ${oneLine(one.step, 20)}`,
    one.at.slice(0, 10),
    `run ${one.number}${sameFile ? '' : ` of ${oneLine(one.db, 40)}`}`,
  ];
  const own = details(run);
  const apart = own.findIndex((detail, place) =>
    alike.every((other) => other === run || (detail !== undefined && details(other)[place] !== detail)),
  );
  return own.filter((detail, place) => detail !== undefined && (apart === -1 || place === apart)).join(', ');
}

/** What a run's name is compared by: as it is, not as it is shown. */
export function keyOfName({ label, worldModel, source }: BoardRun, per: BoardOptions['per']): string {
  return (per === 'label' ? (label ?? worldModel) : (worldModel ?? label)) ?? `file ${source}`;
}
