// The head of a run's page, whatever kind of run it is.

import type { RunDocument } from '../../documents.js';
import { Header, type KeyFigure } from '../parts.js';
import { href } from '../route.js';
import { range, visible } from '../text.js';

export function RunHead({ run, figures }: { run: RunDocument; figures: readonly KeyFigure[] }) {
  const { name, facts, trust, calibration, warnings } = run;
  const link = calibration !== null && <a href={href(['calibration', calibration])}>its calibration</a>;
  const lines = trust === null ? [] : [[<span>{visible(trust)}</span>, link]];
  return <Header title={name} facts={facts} lines={lines} warnings={warnings} figures={figures} />;
}

/** The interval under a key figure. */
export function intervalOf(figure: Parameters<typeof range>[0], decimals = 1): string {
  const interval = range(figure, (value) => value.toFixed(decimals));
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}
