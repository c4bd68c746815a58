// The head of a run's page, whatever kind of run it is.

import type { RunDocument } from '../../documents.js';
import { Header, type KeyFigure } from '../parts.js';
import { href } from '../route.js';
import { range, visible } from '../text.js';

export function RunHead({ run, figures }: { run: RunDocument; figures: readonly KeyFigure[] }) {
  const { ref, name, facts, trust, judgePages, warnings } = run;
  const links = judgePages.map(([page, words]) => <a href={href([page, ref])}>{words}</a>);
  const lines = trust === null ? [] : [[<span>{visible(trust)}</span>, ...links]];
  return <Header title={name} facts={facts} lines={lines} warnings={warnings} figures={figures} />;
}

/** The interval under a key figure. */
export function intervalOf(figure: Parameters<typeof range>[0], decimals = 1): string {
  const interval = range(figure, (value) => value.toFixed(decimals));
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}
