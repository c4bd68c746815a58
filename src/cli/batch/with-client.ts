// What the commands on a submitted batch folder share: its server opened and closed, progress, and how the folder stands at the end.

import type { Io } from '../../core/types.js';
import { showLoading } from '../../serve/loading.js';
import { BatchClient, type ClientOptions } from './client.js';
import type { ServerSettings } from './options.js';
import { type Standing, standingDocument, standingOf, standingText } from './standing.js';

/** How a command tells what it does. */
export interface Telling {
  /** A line for good on stderr. */
  readonly say: (text: string) => void;
  /** How far something is; the next one takes its place. */
  readonly step: (text: string) => void;
}

/**
 * Opens the folder and its server, does the work, and prints how the folder stands then.
 * @throws UserError as opening and the work do; everything that was reached stands on the disk
 */
export async function withClient(
  settings: ServerSettings,
  io: Io,
  work: (client: BatchClient, telling: Telling) => Promise<void>,
  { isLookedAt = false, begins = false }: Partial<ClientOptions> = {},
): Promise<Standing> {
  const loading = showLoading(io.stderr, settings.quiet);
  let client: BatchClient | undefined;
  try {
    client = await BatchClient.open(settings, io, { isLookedAt, begins }, loading.say);
    io.setLastWords('ended at once: whatever was submitted is found again by the same command');
    await work(client, { say: loading.say, step: (text) => loading.step('batch', text) });
    loading.finish();
    const standing = await standingOf(client);
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
    const now = Math.floor(Date.now() / 1000);
    io.stdout.write(settings.json ? standingDocument(client, standing) : standingText(client, standing, io, look, now));
    return standing;
  } finally {
    loading.finish();
    await client?.close();
  }
}
