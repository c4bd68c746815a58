// A run of a SQLite file -> what is listed and shown of it.

import { existsSync } from 'node:fs';
import { heedStop } from '../../errors.js';
import { measureOf } from '../../judge/modes.js';
import type { ListedRun } from '../../report/stored/listed-run.js';
import { aggregate } from '../../score/aggregate.js';
import { toolVersion } from '../../settings/version.js';
import type { Io, ScoreCard } from '../../types.js';
import type { KnownRun } from '../databases.js';
import { chosenIn } from '../read-run.js';
import { isGiven } from '../score/record.js';

/** The runs as a list shows them. @throws UserError (130 or 143) where the user has interrupted the program. */
export async function listedRuns(known: readonly KnownRun[], io: Io): Promise<ListedRun[]> {
  const bytes = new Map([...new Set(known.map(({ store }) => store))].map((store) => [store, store.bytesByRun()]));
  const listed: ListedRun[] = [];
  for (const each of known) {
    listed.push({
      ...each.run,
      db: each.db,
      path: each.path,
      isLabelGiven: isGiven(each.run),
      isSourceThere: existsSync(each.run.source),
      bytes: Math.round(bytes.get(each.store)?.get(each.run.id) ?? 0),
      card: await cardOf(each, io),
    });
  }
  return listed;
}

/** By the arithmetic of this version, as every command has it: where another one scored the run, from its rows, which takes longer. */
async function cardOf({ run, store }: KnownRun, io: Io): Promise<ScoreCard> {
  if (run.toolVersion === toolVersion()) return run.card;
  const card = aggregate(store.judgements(run.id), chosenIn(run.card), measureOf);
  await heedStop(io);
  return card;
}
