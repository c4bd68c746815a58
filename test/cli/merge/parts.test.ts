// What merged manifests say: sums that stay the same however often a part is merged, and identities checked against each other.

import { describe, expect, test } from 'vitest';
import { mergedManifest, sharedIdentity } from '../../../src/cli/merge/parts.js';
import { UserError } from '../../../src/core/errors.js';
import { checkedManifest, type Manifest } from '../../../src/run/manifest.js';

const IDENTITY = { data: 'd', model: 'wm' };

function manifest(shard: string, more: Partial<Manifest> = {}): Manifest {
  return {
    schema: 'awb.manifest/1',
    kind: 'infer',
    tool: { name: 'agentworldbench', version: '0' },
    meta: {},
    identity: IDENTITY,
    fingerprint: '',
    settings: { shard, domains: [] },
    endpoints: [`host-${shard}`],
    servedModels: ['wm'],
    data: { dir: '/data' },
    chosen: {},
    counts: { chosen: 1, ok: 1, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} },
    tokens: {},
    notices: ['the same note', `note of ${shard}`],
    startedAt: `2026-01-0${shard[0]}T00:00:00.000Z`,
    state: 'complete',
    process: { pid: 1, host: 'h' },
    pace: { calls: 10, seconds: 0.1 },
    unrecorded: { calls: 2, usage: { promptTokens: 5 }, uncounted: { sent: 7, received: 0 } },
    ...more,
  };
}

const partOf = (shard: string, more?: Partial<Manifest>) => ({
  name: shard,
  dir: `/parts/${shard}`,
  manifest: manifest(shard, more),
  isOwn: false,
});
const ownOf = (merged: Manifest) => ({ dir: '/own', manifest: merged, isOwn: true });

describe('the manifest of a merged run', () => {
  const one = mergedManifest([partOf('1/3'), partOf('2/3')], IDENTITY);

  test('sums pace and what no record contains, and unites hosts, models and notices', () => {
    expect(one).toMatchObject({
      pace: { calls: 20, seconds: 0.2 },
      unrecorded: { calls: 4, usage: { promptTokens: 10 }, uncounted: { sent: 14, received: 0 } },
      endpoints: ['host-1/3', 'host-2/3'],
      servedModels: ['wm'],
      notices: ['the same note', 'note of 1/3', 'note of 2/3'],
      startedAt: '2026-01-01T00:00:00.000Z',
    });
    expect(one.settings).toEqual({ domains: [] });
    expect(one.merged?.map(({ shard }) => shard)).toEqual(['1/3', '2/3']);
    expect(checkedManifest(JSON.parse(JSON.stringify(one)), 'merged')).toEqual(one);
  });

  test('counts a part once if it is merged again, moved or continued since, and adds a late one', () => {
    const continued = { ...partOf('2/3', { pace: { calls: 15, seconds: 0.4 } }), dir: '/moved' };
    const two = mergedManifest([ownOf(one), continued, partOf('3/3')], IDENTITY);
    expect(two.pace).toEqual({ calls: 35, seconds: 0.6 });
    expect(two.unrecorded?.calls).toBe(6);
    expect(two.merged?.map(({ shard, dir }) => [shard, dir])).toEqual([
      ['1/3', '/parts/1/3'],
      ['2/3', '/moved'],
      ['3/3', '/parts/3/3'],
    ]);
  });

  test('has the price of the part that ended last, and only the counts that a part has', () => {
    const priced = (model: string, endedAt: string) => ({
      price: { model, source: 'list', input: 1, output: 1 },
      endedAt,
    });
    const usage = JSON.parse('{"__proto__": {"polluted": 1}, "promptTokens": 3}');
    const late = partOf('1/3', { ...priced('late', '2026-02-02'), unrecorded: { calls: 1, usage } });
    const merged = mergedManifest([late, partOf('2/3', priced('early', '2026-02-01'))], IDENTITY);
    expect(merged.price?.model).toBe('late');
    expect(merged.unrecorded?.usage).toEqual({ promptTokens: 8 });
    expect({}).not.toHaveProperty('polluted');
  });

  test('keeps what the merged run has asked itself since', () => {
    const grown = { ...one, pace: { calls: 25, seconds: 0.5 }, label: 'own', startedAt: '2026-01-09T00:00:00.000Z' };
    const again = mergedManifest([ownOf(grown), partOf('1/3', { label: 'part' })], IDENTITY);
    expect(again).toMatchObject({ pace: { calls: 25, seconds: 0.5 }, label: 'own', startedAt: grown.startedAt });
  });
});

test('parts with one identity share it, and differences are named field by field', () => {
  const a = { name: 'a', identity: { x: { y: 1 }, z: 2 } };
  expect(sharedIdentity([a, { name: 'b', identity: { z: 2, x: { y: 1 } } }])).toEqual(a.identity);
  const other = { name: 'c', identity: { x: { y: 3 } } };
  expect(() => sharedIdentity([a, other])).toThrow(UserError);
  expect(() => sharedIdentity([a, other])).toThrow(/x\.y: 1 in a, 3 in c\n {2}z: 2 in a, absent in c/);
});
