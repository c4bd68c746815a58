// `awb batch fetch`: the results of a folder's batches into the folder, where the run's own command reads them.

import { fetchResults } from '../asking/batch/fetching.js';
import { SERVER_OPTIONS, type ServerSettings } from '../asking/batch/options.js';
import { refresh } from '../asking/batch/refreshing.js';
import { exitCodeOf } from '../asking/batch/standing.js';
import { withClient } from '../asking/batch/with-client.js';
import { EXIT, type ExitCode } from '../errors.js';
import { defineCommand } from '../settings/command.js';
import type { Io } from '../types.js';

export const command = defineCommand({
  description:
    'Fetches the results of batches that have ended, whole or in part, into outputs-0001.jsonl and errors-0001.jsonl of the folder. Nothing is fetched twice. Exit code 0: everything is here; 75: batches are awaited; 3: a part came to less than it should.',
  examples: [{ line: 'awb batch fetch B', does: 'whatever has come; then the command that wrote B, once more' }],
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: fetchFolder,
});

async function fetchFolder(settings: ServerSettings, io: Io): Promise<ExitCode> {
  const standing = await withClient(settings, io, async (client, telling) => {
    await refresh(client);
    await fetchResults(client, telling);
  });
  return standing.isFetched ? exitCodeOf(standing) : EXIT.later;
}
