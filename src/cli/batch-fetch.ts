// `awb batch fetch`: the results of a folder's batches into the folder, where the run's own command reads them.

import { EXIT, type ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { defineCommand } from '../settings/command.js';
import { fetchResults } from './batch/fetching.js';
import { SERVER_OPTIONS, type ServerSettings } from './batch/options.js';
import { refresh } from './batch/refreshing.js';
import { exitCodeOf } from './batch/standing.js';
import { withClient } from './batch/with-client.js';

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
