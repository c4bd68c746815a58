// What the commands on a submitted batch folder share: the desk opened and closed, progress, and how the folder stands at the end.

import { showLoading } from '../../serve/loading.js';
import type { Io } from '../../types.js';
import { Desk } from './desk.js';
import type { ServerSettings } from './options.js';
import { type Standing, standingOf } from './standing.js';
import { standingDocument, standingText } from './standing-text.js';

/** What a command is given to do its work with. */
interface AtDesk {
  readonly desk: Desk;
  /** A line for good on stderr. */
  readonly say: (text: string) => void;
  /** How far something is; the next one takes its place. */
  readonly step: (text: string) => void;
}

/**
 * Opens the folder, does the work, and prints how the folder stands then.
 * @throws UserError as the desk and the work do; everything that was reached stands on the disk
 */
export async function atDesk(
  settings: ServerSettings,
  io: Io,
  work: (at: AtDesk) => Promise<void>,
  { isLookedAt = false, begins = false } = {},
): Promise<Standing> {
  const loading = showLoading(io.stderr, settings.quiet);
  let desk: Desk | undefined;
  try {
    desk = await Desk.open(settings, io, { isLookedAt, begins, onNotice: loading.say });
    io.setLastWords('ended at once: whatever was submitted is found again by the same command');
    await work({ desk, say: loading.say, step: (text) => loading.step('batch', text) });
    loading.finish();
    const standing = await standingOf(desk);
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
    io.stdout.write(
      settings.json
        ? standingDocument(desk, standing)
        : standingText(desk, standing, io, look, Math.floor(Date.now() / 1000)),
    );
    return standing;
  } finally {
    loading.finish();
    await desk?.close();
  }
}
