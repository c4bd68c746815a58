// A rollout on a report's page.

import { describe, expect, it } from 'vitest';
import { type RolloutCard, rolloutCard } from '../../src/stats/rollout.js';
import { html } from '../../src/view/html.js';
import { rolloutBlocks } from '../../src/view/overview.js';
import { EVIL, pageOf, reportOf } from '../support/reports.js';
import { type MadeStep, steppedRow } from '../support/rollouts.js';

const LEAD = { range: [0, 100], better: 'larger' } as const;

const rowsOf = (more: Partial<MadeStep>, lost: number) =>
  (['mcp', 'web'] as const).flatMap((domain) =>
    Array.from({ length: 12 }, (_, trajectory) =>
      [1, 2, 9].map((step) =>
        steppedRow({
          ...{ domain, trajectory, step, rating: 4.5 - 0.05 * (trajectory % 4) - lost * step * (1 + (trajectory % 2)) },
          ...(step === 9 && trajectory < 3 ? more : { ...more, offScript: [] }),
        }),
      ),
    ).flat(),
  );

function cardOf(offScript: readonly string[], isPaired: boolean): RolloutCard {
  const forced = isPaired ? rowsOf({ isTrue: true }, 0) : undefined;
  const card = rolloutCard(rowsOf({ offScript }, 0.1), { scale: 'score' }, forced);
  if (card === undefined) throw new Error('no rollout');
  return card;
}

const blocksOf = (...given: Parameters<typeof rolloutBlocks>) => html`${rolloutBlocks(...given)}`.source;
const textOf = (markup: string) => markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

describe('the blocks of a rollout', () => {
  it('draw a curve with its band for all rows and for each domain, and give the figures', () => {
    const markup = blocksOf(cardOf([], false), LEAD, undefined);
    expect(markup.match(/<figure/g)).toHaveLength(3);
    expect(markup.match(/<polygon class="band" points="[\d., -]+"/g)).toHaveLength(3);
    expect(textOf(markup)).toContain('Distance Rows Score');
    expect(textOf(markup)).toContain('Nothing is off-script.');
    expect(markup).not.toContain('<h2>Drift</h2>');
    // A policy allows no style but the page's own.
    expect(markup).not.toContain('style=');
  });

  it('say by how many true turns the number of a turn is more than its distance', () => {
    const card = cardOf([], false);
    expect(textOf(blocksOf({ ...card, starts: [3] }, LEAD, undefined))).toContain(
      'The number of a turn is its distance plus 3.',
    );
    expect(textOf(blocksOf(card, LEAD, undefined))).not.toContain('The number of a turn');
  });

  it('show the drift by domain beside a teacher-forced run, and what is off-script apart', () => {
    const text = textOf(blocksOf(cardOf(['/a'], true), LEAD, 'true one'));
    expect(text).toContain('predicted with true histories (true one)');
    expect(text).toContain('6 predictions of 72 are off-script');
    expect(text).toMatch(/Drift .* A step 95 % interval On script Difference Rows MCP −3\.[78] −\d/);
    expect(text).toMatch(/macro of 2 −3\.[78]/);
  });

  it('are nothing on the page of another run, and part of the page of a rollout; names in them stay text', () => {
    const rows = rowsOf({}, 0.1);
    const card = cardOf([], true);
    expect(pageOf(reportOf(rows))).not.toContain('Score by distance');
    const other = { ...reportOf(rows).run, name: EVIL };
    const page = pageOf(reportOf(rows, { rollout: card, other }));
    expect(page).toContain('<h2>Score by distance from the last true observation</h2>');
    expect(page).not.toContain('<img');
  });
});
