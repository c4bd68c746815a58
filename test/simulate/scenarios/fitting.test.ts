import { afterEach, describe, expect, test, vi } from 'vitest';
import { present } from '../../../src/present.js';
import { fittingIn } from '../../../src/simulate/scenarios/fitting.js';
import { rowRefs } from '../../support/row-refs.js';
import { SAMPLE } from '../../support/sample.js';
import { scenarioOf } from '../../support/scenarios.js';

afterEach(() => {
  vi.useRealTimers();
});

const row = present(
  rowRefs([{ key: 'k', trajectory: 't', domain: 'terminal', id: '1', turnIdx: 1, line: 1, offset: 0, length: 1 }])[0],
);

/** A search over rows that each take a second to read. */
function slowSearch(said: { readonly quiet: boolean; readonly ofRows?: number }) {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: string[] = [];
  const readSample = async () => {
    vi.advanceTimersByTime(1_000);
    return { ...SAMPLE, domain: 'terminal' };
  };
  const stop = new AbortController();
  const stderr = { write: (text: string) => lines.push(text), isTTY: false, columns: 80 };
  const scenarios = [scenarioOf({ name: 'here', domains: ['terminal'] }), scenarioOf({ name: 'no', domains: ['web'] })];
  const fitting = fittingIn({ readSample }, scenarios, said, { stderr, stop: stop.signal });
  const look = async (rows: number) => {
    for (let looked = 0; looked < rows; looked++) await fitting(row);
  };
  return { fitting, look, lines, stop };
}

describe('the search for rows that scenarios are fit for', () => {
  test('says again and again how far it is', async () => {
    const { look, lines } = slowSearch({ quiet: false, ofRows: 1200 });
    await look(10);
    expect(lines).toEqual([
      'looking for rows that the scenarios are fit for: 4 of 1,200 looked at\n',
      'looking for rows that the scenarios are fit for: 8 of 1,200 looked at\n',
    ]);
  });

  test('says nothing under --quiet', async () => {
    const { look, lines } = slowSearch({ quiet: true });
    await look(10);
    expect(lines).toEqual([]);
  });

  test('finds for a row the scenarios of its domain', async () => {
    const { fitting } = slowSearch({ quiet: false });
    expect(Array.from(await fitting(row), ({ name }) => name)).toEqual(['here']);
  });

  test('ends once the user has interrupted', async () => {
    const { fitting, stop } = slowSearch({ quiet: false });
    stop.abort('SIGINT');
    await expect(fitting(row)).rejects.toMatchObject({ exitCode: 130 });
  });
});
