// The journal beside a file of predictions or judgements -> what each of its rows took.

import { existsSync } from 'node:fs';
import {
  callsIn,
  callsTogether,
  costOf,
  countsIn,
  isUncounted,
  type Price,
  type Spent,
  usdOfBoth,
} from '../core/costs.js';
import { isInteger, isNumber, isObject, isText, type JsonObject, parseObject } from '../core/json.js';
import type { CallLog } from '../core/types.js';
import { openToRead, readLines, textOf } from './line-file.js';

/**
 * What each row took, by the journal's record id, in the order in which the ids first come; undefined where there is no journal. A row of several records (it failed and was
 * asked again) took all of them. Torn and strange lines are passed over, since the file beside it is whole.
 * @param price what the calls cost; without one, only what needed no call has a cost
 * @throws UserError: 66 where the journal is there and cannot be read, 130 or 143 once `stop` is aborted.
 */
export async function readCosts(
  path: string,
  price: Price | undefined,
  stop?: AbortSignal,
): Promise<ReadonlyMap<string, Spent> | undefined> {
  if (!existsSync(path)) return undefined;
  const costs = new Map<string, Spent>();
  const hint = 'it says what asking cost; move it away to go on without';
  const handle = await openToRead(path, hint);
  try {
    for await (const line of readLines(handle, path, hint, stop)) {
      const found = textOf(line);
      const { id, log } = ('text' in found ? parseObject(found.text) : undefined) ?? {};
      if (!isText(id) || !isObject(log)) continue;
      const [before, spent] = [costs.get(id), spentIn(log, price)];
      costs.set(id, before === undefined ? spent : together(before, spent));
    }
  } finally {
    await handle.close();
  }
  return costs;
}

function spentIn(written: JsonObject, price: Price | undefined): Spent {
  const log = callLog(written);
  // Baselines, text measures and rows without a prediction ask nobody.
  if (log === undefined || log.attempts === 0) return { usd: 0 };
  const usd = price && costOf(log.usage, price, callsIn(log.tries));
  return { log, ...(usd === undefined ? {} : { usd }) };
}

/** What two records of a row took; where a call was made is told by the later one. */
function together(before: Spent, later: Spent): Spent {
  if (before.log === undefined || later.log === undefined) return before.log === undefined ? later : before;
  const { tries: _, ...log } = callsTogether(before.log, later.log);
  const usd = usdOfBoth(before.usd, later.usd);
  return usd === undefined ? { log } : { log, usd };
}

/** The fields that hold what they may; undefined without the two that each log has. */
function callLog(written: JsonObject): CallLog | undefined {
  const { attempts, ms, host, firstTokenMs, chars, tries, uncounted, batched } = written;
  if (!isCount(attempts) || !isNumber(ms)) return undefined;
  return {
    attempts,
    usage: countsIn(written.usage),
    ms,
    host: isText(host) ? host : '',
    ...(isNumber(firstTokenMs) && { firstTokenMs }),
    ...(isCount(chars) && { chars }),
    ...(isCount(tries) && { tries }),
    ...(isUncounted(uncounted) && { uncounted }),
    ...(isCount(batched) && { batched }),
  };
}

function isCount(value: unknown): value is number {
  return isInteger(value) && value >= 0;
}
