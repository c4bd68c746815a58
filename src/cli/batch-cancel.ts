// `awb batch cancel`: ends the batches of a folder that have not ended.

import { EXIT, type ExitCode } from '../core/errors.js';
import { counted } from '../core/figures.js';
import type { Io } from '../core/types.js';
import { defineCommand } from '../settings/command.js';
import { SERVER_OPTIONS, type ServerSettings } from './batch/options.js';
import { cancelBatches } from './batch/refreshing.js';
import { withClient } from './batch/with-client.js';

export const command = defineCommand({
  description:
    'Cancels every batch of a folder that has not ended. What was answered by then is charged, and awb batch fetch gets it.',
  examples: [{ line: 'awb batch cancel B', does: 'then awb batch fetch B, for what was done' }],
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: cancelFolder,
});

async function cancelFolder(settings: ServerSettings, io: Io): Promise<ExitCode> {
  await withClient(settings, io, async (client, { say }) => {
    const cancelled = await cancelBatches(client);
    say(cancelled === 0 ? 'nothing was left to cancel' : `${counted(cancelled, 'batch', 'batches')} cancelled`);
  });
  return EXIT.done;
}
