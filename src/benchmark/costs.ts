// The journal next to a file of predictions or judgements -> what each of its rows cost.

import { existsSync } from 'node:fs';
import { addUsage, callsIn, costOf, countsIn, type Price, type Spent, usdOfBoth } from '../core/costs.js';
import { closing } from '../core/errors.js';
import { isInteger, isNumber, isObject, isText, type JsonObject, parseObject } from '../core/json.js';
import { openToRead, readLines, textOf } from './line-file.js';

/**
 * What each row cost, by the journal's record id, in order of first occurrence; undefined if there is no journal. A row with several
 * records (it failed and was asked again) cost all of them. Torn and unknown lines are skipped, since the file next to the journal is
 * complete.
 * @param price what the calls cost; without it, only rows that needed no call have a cost
 * @throws UserError: 66 if the journal exists but cannot be read, 130 or 143 once `stop` is aborted.
 */
export async function readCosts(
  path: string,
  price: Price | undefined,
  stop?: AbortSignal,
): Promise<ReadonlyMap<string, Spent> | undefined> {
  if (!existsSync(path)) return undefined;
  const costs = new Map<string, Spent>();
  const hint = 'it records what calls cost; move it away to continue without it';
  await closing(await openToRead(path, hint), async (handle) => {
    for await (const line of readLines(handle, path, hint, stop)) {
      const found = textOf(line);
      const { id, log } = ('text' in found ? parseObject(found.text) : undefined) ?? {};
      if (!isText(id) || !isObject(log)) continue;
      const [before, spent] = [costs.get(id), spentIn(log, price)];
      costs.set(id, before === undefined ? spent : together(before, spent));
    }
  });
  return costs;
}

function spentIn(written: JsonObject, price: Price | undefined): Spent {
  const { attempts, ms, tries } = written;
  // Baselines, text measures and rows without a prediction call no model.
  if (!isInteger(attempts) || attempts < 1 || !isNumber(ms)) return { usd: 0 };
  const usage = countsIn(written.usage);
  const usd = price && costOf(usage, price, callsIn(tries));
  return { log: { attempts, usage, ms }, ...(usd === undefined ? {} : { usd }) };
}

/** What two records of a row cost. */
function together(before: Spent, later: Spent): Spent {
  if (before.log === undefined || later.log === undefined) return before.log === undefined ? later : before;
  const usage = { ...before.log.usage };
  addUsage(usage, later.log.usage);
  const log = { attempts: before.log.attempts + later.log.attempts, usage, ms: before.log.ms + later.log.ms };
  const usd = usdOfBoth(before.usd, later.usd);
  return usd === undefined ? { log } : { log, usd };
}
