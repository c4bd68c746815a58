// `awb batch status`: how far the batches of a folder are.

import { SERVER_OPTIONS, type ServerSettings } from '../asking/batch/options.js';
import { refresh } from '../asking/batch/refreshing.js';
import { exitCodeOf } from '../asking/batch/standing.js';
import { withClient } from '../asking/batch/with-client.js';
import type { ExitCode } from '../errors.js';
import { defineCommand } from '../settings/command.js';
import type { Io } from '../types.js';

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
