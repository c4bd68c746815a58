// What the models of a judged run cost: by the user's price file, else as the run was asked, else by the catalogue.

import type { Asked } from '../../costs.js';
import type { Price } from '../../price.js';
import type { PriceList } from '../../prices/prices.js';
import { worldModelManifest } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { openPriceList } from '../../settings/prices.js';
import type { Io } from '../../types.js';

/** The prices of a run; who is absent, of them nobody knows it. */
export type RunPrices = Readonly<Partial<Record<Asked, Price>>>;

/**
 * The prices of world model and judge. Without a price file a run keeps the one it was asked under, and a run of an earlier version
 * gets the catalogue's of the day on which it began.
 * @throws UserError (65, 66) for a price file that cannot be used
 */
export async function pricesOf(
  manifest: Partial<Manifest> | undefined,
  file: string | undefined,
  io: Pick<Io, 'cwd'>,
): Promise<RunPrices> {
  const asked = worldModelManifest(manifest);
  const sides = [
    ['world_model', asked, asked?.identity?.model],
    ['judge', manifest, manifest?.identity?.judge],
  ] as const satisfies readonly (readonly [Asked, Partial<Manifest> | undefined, unknown])[];
  const isUnknown = ([, one, model]: (typeof sides)[number]) => model !== undefined && one?.price === undefined;
  // Opening the catalogue takes longer than scoring a small run.
  const list = file === undefined && !sides.some(isUnknown) ? undefined : await openPriceList({ prices: file }, io);
  const prices = sides.flatMap(([who, one, model]) => {
    const listed = () => one && list && listedPrice(list, one, model);
    const price = file === undefined ? (one?.price ?? listed()) : (listed() ?? one?.price);
    return price === undefined ? [] : [[who, price] as const];
  });
  return Object.fromEntries(prices);
}

/** The list's price; a model that was served here is known by the name that it was served under. */
function listedPrice(list: PriceList, manifest: Partial<Manifest>, asked: unknown): Price | undefined {
  const { servedModels: [served, ...others] = [], endpoints: hosts = [], startedAt = '' } = manifest;
  const model = typeof asked === 'string' ? asked : served;
  const at = new Date(startedAt);
  if (asked === undefined || model === undefined || Number.isNaN(at.getTime())) return undefined;
  return list.priceOf({ model, servedModel: others.length === 0 ? served : undefined, hosts, at });
}
