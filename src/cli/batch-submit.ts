// `awb batch submit`: a batch folder's parts, uploaded and made into batches of a server that works them off.

import type { ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { SERVER_OPTIONS } from './batch/options.js';
import { exitCodeOf } from './batch/standing.js';
import { submit } from './batch/submitting.js';
import { withClient } from './batch/with-client.js';

const OPTIONS = {
  ...SERVER_OPTIONS,
  wait: { kind: 'boolean', help: 'look again and again until every batch has ended' },
  poll: { kind: 'duration', min: 0.01, default: 60, help: 'under --wait, longest time between two looks' },
  again: {
    kind: 'boolean',
    help: 'submit once more what has ended without a result',
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    "Submits a batch folder's parts to a server with OpenAI's Files and Batches API. The same command goes on where it ended, and submits nothing twice. Exit code 0: all batches have ended; 75: they are awaited; 3: a part came to less than it should.",
  examples: [
    { line: 'awb batch submit B --base-url https://api.openai.com/v1', does: 'all parts; the key is OPENAI_API_KEY' },
    { line: 'awb batch submit B --wait && awb batch fetch B', does: 'wait until all have ended, then fetch' },
    { line: 'awb batch submit B --again', does: 'once more what failed or expired' },
  ],
  options: OPTIONS,
  operands: ['batch-dir'],
  run: submitFolder,
});

async function submitFolder(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const { again, wait, poll } = settings;
  const options = { again, wait, pollMs: poll * 1000, stop: io.stop };
  const standing = await withClient(settings, io, (client, telling) => submit(client, { ...options, ...telling }), {
    begins: true,
  });
  return exitCodeOf(standing);
}
