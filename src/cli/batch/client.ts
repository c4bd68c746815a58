// A batch folder and the server that has its batches: what was sent stands in submission.json before and after every step.

import { join, resolve } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { shellLine } from '../../core/shell.js';
import type { Io } from '../../core/types.js';
import { lockFile } from '../../disk/lock.js';
import { BatchApi } from '../../model/batch/api.js';
import { type Batch, type BatchPart, readBatch } from '../../model/batch/folder.js';
import { readSubmission, type Sent, type Submission, writeSubmission } from '../../model/batch/submission.js';
import { proxyFor } from '../../model/http/address.js';
import { programName } from '../../settings/program-name.js';
import { shownPath } from '../../settings/shown-path.js';
import type { ServerSettings } from './options.js';

const OPENAI = 'https://api.openai.com';

/** A batch folder, read. */
export interface Opened {
  /** Absolute. */
  readonly dir: string;
  /** As people are shown it. */
  readonly shown: string;
  readonly batch: Batch;
}

/** @throws UserError: 66 where there is no batch folder, 65 where batch.json is damaged */
export async function openBatchFolder(given: string, io: Io): Promise<Opened> {
  const dir = resolve(io.cwd, given);
  const batch = await readBatch(dir);
  const shown = shownPath(dir, io);
  if (batch !== undefined) return { dir, shown, batch };
  throw new UserError(
    `${shown} is no batch folder: it has no batch.json. awb infer, judge and calibrate write one with --batch-dir`,
    EXIT.inputMissing,
  );
}

/** The command that reads what has come, to be pasted; in words where batch.json does not hold it. */
export function readingCommand({ command, run }: Batch, io: Pick<Io, 'cwd' | 'env'>): string {
  if (command === undefined) return `the awb ${run.kind} command with --batch-dir that wrote the folder, once more`;
  const line = `${programName(io)} ${shellLine(command.words)}`;
  return command.cwd === io.cwd ? line : `cd ${shellLine([command.cwd])} && ${line}`;
}

export interface ClientOptions {
  /** Nothing is written, so that another command may work on the folder. */
  readonly isLookedAt: boolean;
  /** The folder may be one of which nothing was submitted yet. */
  readonly begins: boolean;
}

/** What the commands on a submitted folder share. */
export class BatchClient {
  /** What a later command has to be given to reach the server with the same key. */
  readonly access: readonly string[];
  #sent: readonly Sent[];

  private constructor(
    private folder: Opened,
    readonly api: BatchApi,
    { apiKey }: ServerSettings,
    submission: Submission | undefined,
    private readonly release: (() => void) | undefined,
  ) {
    this.access = apiKey === undefined ? [] : ['--base-url', api.baseUrl];
    this.#sent = submission?.sent ?? [];
  }

  /**
   * Opens the folder; unless it is only looked at, for this process alone.
   * @throws UserError: 2 for settings that do not do, 66 and 65 for the folder, 73 where another process works on it
   */
  static async open(
    settings: ServerSettings,
    io: Io,
    { isLookedAt, begins }: ClientOptions,
    onNotice: (text: string) => void,
  ): Promise<BatchClient> {
    const opened = await openBatchFolder(settings.batchDir, io);
    const { dir, shown } = opened;
    const busy = `another awb batch command works on ${shown}; wait for it to end, or interrupt it: nothing is lost`;
    const release = isLookedAt ? undefined : await lockFile(join(dir, '.submission.lock'), busy);
    let api: BatchApi | undefined;
    try {
      const submission = await readSubmission(dir, shown);
      if (submission === undefined && !begins) throw notSubmitted(shown, io);
      const baseUrl = settings.baseUrl ?? submission?.baseUrl ?? opened.batch.baseUrl;
      if (baseUrl === undefined) throw noAddress(shown);
      api = new BatchApi({
        baseUrl,
        apiKey: keyFor(baseUrl, settings, shown, io),
        proxy: proxyFor(baseUrl, io.env),
        retryMs: settings.retryMinutes * 60_000,
        stop: io.stop,
        onNotice,
      });
      requireSameServer(api, submission, shown);
      return new BatchClient(opened, api, settings, submission, release);
    } catch (error) {
      await api?.close();
      release?.();
      throw error;
    }
  }

  get opened(): Opened {
    return this.folder;
  }

  /** All that was sent, in the order in which it was. */
  get sent(): readonly Sent[] {
    return this.#sent;
  }

  get parts(): readonly BatchPart[] {
    return this.folder.batch.parts;
  }

  /** Takes over what the run has noted in batch.json since: it goes on beside a command that waits for hours. @throws UserError: 66, 65 */
  async readAgain(): Promise<void> {
    const batch = await readBatch(this.folder.dir);
    if (batch !== undefined) this.folder = { ...this.folder, batch };
  }

  /** How a part was sent the last time; undefined where it never was. */
  latest({ file }: BatchPart): Sent | undefined {
    return this.#sent.findLast(({ part }) => part === file);
  }

  /**
   * Puts what is known now in the place of what was known, or, where that is undefined, behind all that was sent. A client that only looks
   * keeps it to itself.
   */
  async note(before: Sent | undefined, now: Sent): Promise<Sent> {
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(now)) return before;
    const at = before === undefined ? this.#sent.length : this.#sent.indexOf(before);
    this.#sent = this.#sent.toSpliced(at, 1, now);
    if (this.release !== undefined) {
      await writeSubmission(this.folder.dir, { baseUrl: this.api.baseUrl, sent: this.#sent });
    }
    return now;
  }

  async close(): Promise<void> {
    await this.api.close();
    this.release?.();
  }
}

function notSubmitted(shown: string, io: Io): UserError {
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words])}`;
  return new UserError(
    `nothing of ${shown} was submitted yet: ${command('submit', shown)} does that, and ${command('run', shown, '--local', 'MODEL')} answers it without a batch API`,
    EXIT.inputMissing,
  );
}

function noAddress(shown: string): UserError {
  return new UserError(
    `${shown} was written without trying an endpoint out, so name the server: --base-url https://api.openai.com/v1`,
  );
}

/** Parts of one folder are one server's: whoever went to another one would pay twice. */
function requireSameServer(api: BatchApi, submission: Submission | undefined, shown: string): void {
  if (submission === undefined || submission.sent.length === 0 || submission.baseUrl === api.baseUrl) return;
  throw new UserError(
    `${shown} was submitted to ${submission.baseUrl}, and --base-url names ${api.baseUrl}; leave --base-url out, or move submission.json aside to submit all of it anew`,
    EXIT.identityDiffers,
  );
}

/**
 * A key goes to the server that this call names: anybody may have written the address that a folder holds. `OPENAI_API_KEY` names its own.
 * @throws UserError (2) for a key where only the folder names the server
 */
function keyFor(baseUrl: string, { apiKey = '', baseUrl: named }: ServerSettings, shown: string, { env }: Io): string {
  const { origin, host } = URL.canParse(baseUrl) ? new URL(baseUrl) : { origin: '', host: baseUrl };
  if (apiKey === '') return (origin === OPENAI ? env.OPENAI_API_KEY : undefined) ?? '';
  if (named !== undefined) return apiKey;
  throw new UserError(
    `the key would go to ${host}, which only the folder ${shown} names; if you trust that server, name it yourself: ${shellLine(['--base-url', baseUrl])}`,
  );
}
