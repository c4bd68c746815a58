// `awb batch submit`, `status`, `fetch` and `cancel`: a batch folder and the server that works it off.

import { EXIT } from '../core/errors.js';
import { counted } from '../core/figures.js';
import type { Io } from '../core/types.js';
import { Refused } from '../model/batch/api.js';
import { isLive } from '../model/batch/folder.js';
import { defineCommand, type OptionTable, option } from '../settings/command.js';
import { BatchClient } from './batch/client.js';
import { SERVER_OPTIONS, type ServerSettings } from './batch/options.js';
import { exitCodeOf, type Standing, standingOf, standingText } from './batch/standing.js';
import { fetchResults, submit as submitParts } from './batch/transfers.js';

const SUBMIT_OPTIONS = {
  ...SERVER_OPTIONS,
  wait: option.flag('look again and again until every batch has ended'),
  poll: option.duration('under --wait, longest time between two looks', { min: 0.01, default: 60 }),
  again: option.flag('submit once more what has ended without a result'),
} as const satisfies OptionTable;

export const submit = defineCommand({
  description:
    "Submits a batch folder's parts to a server with OpenAI's Files and Batches API. The same command goes on where it ended, and submits nothing twice. Exit code 0: all batches have ended; 75: they are awaited; 3: a part came to less than it should.",
  examples: {
    'awb batch submit B --base-url https://api.openai.com/v1': 'all parts; the key is OPENAI_API_KEY',
    'awb batch submit B --wait && awb batch fetch B': 'wait until all have ended, then fetch',
    'awb batch submit B --again': 'once more what failed or expired',
  },
  options: SUBMIT_OPTIONS,
  operands: ['batch-dir'],
  async run({ again, wait, poll, ...settings }, io) {
    const work = (client: BatchClient) => submitParts(client, again, wait, poll * 1000);
    return exitCodeOf(await withClient('submit', settings, io, work));
  },
});

export const status = defineCommand({
  description:
    'Shows how far the batches of a folder are: state, requests done and failed, age, and when they expire. It changes nothing. Exit code 0: all have ended; 75: some have not; 3: a part came to less than it should.',
  examples: {
    'awb batch status B': 'a line a part',
    "awb batch status B --json | jq '.parts[].state'": 'for a script',
  },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: async (settings, io) => exitCodeOf(await withClient('status', settings, io, (client) => client.refresh(true))),
});

export const fetch = defineCommand({
  description:
    'Fetches the results of batches that have ended, whole or in part, into outputs-0001.jsonl and errors-0001.jsonl of the folder. Nothing is fetched twice. Exit code 0: everything is here; 75: batches are awaited; 3: a part came to less than it should.',
  examples: { 'awb batch fetch B': 'whatever has come; then the command that wrote B, once more' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    const standing = await withClient('fetch', settings, io, async (client) => {
      await client.refresh();
      await fetchResults(client);
    });
    return standing.fetched ? exitCodeOf(standing) : EXIT.later;
  },
});

export const cancel = defineCommand({
  description:
    'Cancels every batch of a folder that has not ended. What was answered by then is charged, and awb batch fetch gets it.',
  examples: { 'awb batch cancel B': 'then awb batch fetch B, for what was done' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    await withClient('cancel', settings, io, cancelBatches);
    return EXIT.done;
  },
});

/**
 * Opens the folder and its server, does the work, and prints how the folder stands then.
 * @throws UserError as opening and the work do; everything that was reached stands on the disk
 */
async function withClient(
  command: Parameters<typeof BatchClient.open>[0],
  settings: ServerSettings,
  io: Io,
  work: (client: BatchClient) => Promise<void>,
): Promise<Standing> {
  const client = await BatchClient.open(command, settings, io);
  try {
    io.setLastWords('ended at once: whatever was submitted is found again by the same command');
    await work(client);
    client.loading.finish();
    const standing = await standingOf(client);
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
    const text = settings.json ? `${JSON.stringify(standing, null, 2)}\n` : standingText(client, standing, look);
    io.stdout.write(text);
    return standing;
  } finally {
    await client.close();
  }
}

/** What a server answers for a batch that has ended meanwhile. */
const TOO_LATE = [400, 404, 409];

/** Tells every batch that has not ended to end; what it has done by then can be fetched. */
async function cancelBatches(client: BatchClient): Promise<void> {
  await client.refresh();
  let cancelled = 0;
  for (const sent of client.sent) {
    if (!isLive(sent) || sent.status === 'cancelling') continue;
    try {
      await client.noteServed(sent, await client.api.cancel(sent.batchId ?? ''));
      cancelled++;
    } catch (error) {
      if (!(error instanceof Refused) || !TOO_LATE.includes(error.http)) throw error;
    }
  }
  // What ended in between is told as it is now.
  await client.refresh();
  client.loading.say(
    cancelled === 0 ? 'nothing was left to cancel' : `${counted(cancelled, 'batch', 'batches')} cancelled`,
  );
}
