// The rubric pack that the user names.

import { loadRubricPack } from '../../bench/rubric-pack.js';
import { officialRubrics } from '../../hub/official-rubrics.js';
import { proxiedDownloads } from '../../model/http/proxied-fetch.js';
import type { RubricPack } from '../../rubric.js';
import type { Io } from '../../types.js';

/** Reads the pack when it is wanted; the official one is fetched then. @throws UserError as `loadRubricPack` and `officialRubrics` */
export function rubricsOf(given: string | undefined, quiet: boolean, io: Io): () => Promise<RubricPack> {
  const { fetch } = proxiedDownloads(io.env);
  const onFetch = (text: string) => void (quiet || io.stderr.write(`${text}\n`));
  const official = () => officialRubrics({ env: io.env, fetch, signal: io.stop, onFetch });
  return () => loadRubricPack(given, { cwd: io.cwd, official });
}
