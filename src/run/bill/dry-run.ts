// `--dry-run`: the bill of a stage, printed; nothing is asked but what a server says of its model, and nothing is written.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { serverFacts } from '../../model/backend.js';
import type { Bill, ServerFacts } from '../../model/bill.js';
import { openContextWatch } from '../../model/context.js';
import { openTokenizer } from '../../model/tokens/tokenizer.js';
import type { Run } from '../run.js';
import type { Stage, StageJob } from '../stage-contract.js';
import { billOf } from './bill-of.js';
import { measuredBy } from './measured.js';
import { billText } from './text.js';

const PROGRESS_MS = 5_000;

/**
 * Prints what asking the stage would take. Exit code 0, whatever it costs.
 * @throws UserError: what reading rows and runs throws, 130 or 143 once the user has interrupted.
 */
export async function printBill<J extends StageJob>(stage: Stage<J>): Promise<ExitCode> {
  const { io, settings } = stage;
  const bill = await chargedBill(stage);
  const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
  io.stdout.write(settings.json ? `${JSON.stringify(bill.document)}\n` : billText(bill, look));
  return EXIT.done;
}

/** Shows the same on stderr, before the stage is asked; nothing where nothing is left to ask, or the user wants no progress. */
export async function showBill<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { settings } = stage;
  if (settings.quiet) return;
  const { stderr } = stage.io;
  const bill = await chargedBill(stage);
  const look = { columns: stderr.columns, color: settings.color && stderr.isTTY };
  if (bill.document.total.rows > 0) stderr.write(`${billText(bill, look, 'ahead')}\n`);
}

/** The bill of a stage, from what the user, earlier runs and servers say. */
export async function chargedBill<J extends StageJob>(stage: Stage<J>): Promise<Bill> {
  const { io, run, target, settings } = stage;
  const { tokenizer: file, maxTokens, fitMaxTokens } = settings;
  const servers = await serverFacts(target.named);
  return billOf(stage, {
    tokenizer: file === undefined ? undefined : { file, ...(await openTokenizer(resolve(io.cwd, file), file)) },
    measured: await measuredBy(settings.estimateFrom, run, io),
    servers,
    notes: [...newNotices(run), ...contextNotes(servers, maxTokens, fitMaxTokens)],
    onRow: settings.quiet ? undefined : progressTo(io.stderr),
  });
}

/** What earlier sessions were told is known, and nothing was repaired. */
function newNotices({ notices, stored, journal }: Run): string[] {
  return notices.filter((notice) => notice !== journal.repaired && !stored?.notices.includes(notice));
}

/** What the run would say, or end with, when it reads the context lengths. */
function contextNotes(servers: readonly ServerFacts[], maxTokens: number, fits: boolean): string[] {
  const notes: string[] = [];
  const watch = openContextWatch({ maxTokens, fits, onNotice: (text) => notes.push(text) });
  for (const { host, contextTokens, refusesBudgets = false } of servers) {
    if (contextTokens === undefined) continue;
    try {
      watch.described(host, contextTokens, !refusesBudgets);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      notes.push(error.message);
    }
  }
  return notes;
}

function progressTo(stderr: { write(text: string): void }): (done: number, of: number) => void {
  let last = performance.now();
  return (done, of) => {
    if (performance.now() - last < PROGRESS_MS) return;
    last = performance.now();
    stderr.write(`bill: ${done} of ${counted(of, 'row')} read\n`);
  };
}
