// `awb batch status`: how far the batches of a folder are.

import type { ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { defineCommand } from '../settings/command.js';
import { SERVER_OPTIONS, type ServerSettings } from './batch/options.js';
import { refresh } from './batch/refreshing.js';
import { exitCodeOf } from './batch/standing.js';
import { withClient } from './batch/with-client.js';

export const command = defineCommand({
  description:
    'Shows how far the batches of a folder are: state, requests done and failed, age, and when they expire. It changes nothing. Exit code 0: all have ended; 75: some have not; 3: a part came to less than it should.',
  examples: [
    { line: 'awb batch status B', does: 'a line a part' },
    { line: "awb batch status B --json | jq '.parts[].state'", does: 'for a script' },
  ],
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: showStatus,
});

async function showStatus(settings: ServerSettings, io: Io): Promise<ExitCode> {
  const standing = await withClient(settings, io, (client) => refresh(client, true), { isLookedAt: true });
  return exitCodeOf(standing);
}
