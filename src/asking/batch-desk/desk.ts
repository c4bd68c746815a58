// An open batch folder and the server that has its batches: what was sent stands in submission.json before and after every step.

import { join, resolve } from 'node:path';
import { EXIT, UserError } from '../../errors.js';
import { parseObject } from '../../json.js';
import { BatchApi } from '../../model/batch/api.js';
import { type Batch, type BatchPart, readBatch, textIn } from '../../model/batch/folder.js';
import { type Sent, type Submission, submissionIn, submissionText } from '../../model/batch/submission.js';
import { proxyFor } from '../../model/http/proxy.js';
import { present } from '../../present.js';
import { replaceFile } from '../../run/files.js';
import { programName } from '../../settings/program-name.js';
import { shownPath } from '../../settings/shown-path.js';
import { shellLine } from '../../shell.js';
import { lockFile } from '../../store/lock.js';
import type { Io } from '../../types.js';
import type { ServerSettings } from './options.js';

const SUBMISSION = 'submission.json';
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
export async function openBatch(given: string, io: Io): Promise<Opened> {
  const dir = resolve(io.cwd, given);
  const batch = await readBatch(dir);
  const shown = shownPath(dir, io);
  if (batch !== undefined) return { dir, shown, batch };
  throw new UserError(
    `${shown} is no batch folder: it has no batch.json. awb infer, judge and calibrate write one with --batch-dir`,
    EXIT.inputMissing,
  );
}

interface DeskOptions {
  /** Nothing is written, so that another command may work on the folder. */
  readonly isLookedAt: boolean;
  /** The folder may be one of which nothing was submitted yet. */
  readonly begins: boolean;
  readonly onNotice: (text: string) => void;
}

/** What the commands on a submitted folder share. */
export class Desk {
  readonly #path: string;
  #sent: readonly Sent[];
  #opened: Opened;

  private constructor(
    opened: Opened,
    readonly api: BatchApi,
    /** What a later command has to be given to reach the server with the same key. */
    readonly access: readonly string[],
    submission: Submission | undefined,
    private readonly release: (() => void) | undefined,
  ) {
    this.#opened = opened;
    this.#path = join(opened.dir, SUBMISSION);
    this.#sent = submission?.sent ?? [];
  }

  /**
   * Opens the folder; unless it is only looked at, for this process alone.
   * @throws UserError: 2 for settings that do not do, 66 and 65 for the folder, 73 where another process works on it
   */
  static async open(settings: ServerSettings, io: Io, { isLookedAt, begins, onNotice }: DeskOptions): Promise<Desk> {
    const opened = await openBatch(settings.batchDir, io);
    const { dir, shown } = opened;
    const busy = `another awb batch command works on ${shown}; wait for it to end, or interrupt it: nothing is lost`;
    const release = isLookedAt ? undefined : await lockFile(join(dir, '.submission.lock'), busy);
    let api: BatchApi | undefined;
    try {
      const submission = await readSubmission(dir, shown);
      if (submission === undefined && !begins) throw notSubmitted(opened, io);
      const baseUrl = addressFor(settings, submission, opened);
      api = new BatchApi({
        baseUrl,
        apiKey: keyFor(baseUrl, settings, shown, io),
        proxy: proxyFor(baseUrl, io.env),
        retryMs: settings.retryMinutes * 60_000,
        stop: io.stop,
        onNotice,
      });
      requireSameServer(api, submission, shown);
      const access = settings.apiKey === undefined ? [] : ['--base-url', api.baseUrl];
      return new Desk(opened, api, access, submission, release);
    } catch (error) {
      await api?.close();
      release?.();
      throw error;
    }
  }

  get opened(): Opened {
    return this.#opened;
  }

  /** All that was sent, in the order in which it was. */
  get sent(): readonly Sent[] {
    return this.#sent;
  }

  get parts(): readonly BatchPart[] {
    return this.opened.batch.parts;
  }

  /** Takes over what the run has noted in batch.json since: it goes on beside a desk that waits for hours. @throws UserError: 66, 65 */
  async readAgain(): Promise<void> {
    const batch = await readBatch(this.#opened.dir);
    if (batch !== undefined) this.#opened = { ...this.#opened, batch };
  }

  /** How a part was sent the last time; undefined where it never was. */
  latest({ file }: Pick<BatchPart, 'file'>): Sent | undefined {
    return this.#sent.findLast(({ part }) => part === file);
  }

  /** Notes what is sent next. */
  async add(sent: Sent): Promise<Sent> {
    this.#sent = [...this.#sent, sent];
    await this.#save();
    return sent;
  }

  /** Puts what is known now in the place of what was known. A desk at which is only looked keeps it to itself. */
  async change(before: Sent, now: Sent): Promise<Sent> {
    if (JSON.stringify(before) === JSON.stringify(now)) return before;
    const at = this.#sent.indexOf(before);
    this.#sent = this.#sent.with(at, now);
    if (this.release !== undefined) await this.#save();
    return present(this.#sent[at]);
  }

  async close(): Promise<void> {
    await this.api.close();
    this.release?.();
  }

  async #save(): Promise<void> {
    const text = submissionText({ baseUrl: this.api.baseUrl, sent: this.#sent });
    const remedy = 'make room or mend its rights, and run the same command again: what was sent is found again';
    await replaceFile(this.#path, [text], { remedy });
  }
}

/** What was submitted of a folder; undefined where nothing was. @throws UserError: 65 where it is damaged, 66 where it cannot be read */
export async function readSubmission(dir: string, shown: string): Promise<Submission | undefined> {
  const text = await textIn(join(dir, SUBMISSION));
  if (text === undefined) return undefined;
  const submission = submissionIn(parseObject(text));
  if (submission !== undefined) return submission;
  throw new UserError(
    `${shown}/${SUBMISSION} is damaged, or of another version of awb; restore it: without it nobody knows what was submitted`,
    EXIT.badData,
  );
}

function notSubmitted({ shown }: Opened, io: Io): UserError {
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words])}`;
  return new UserError(
    `nothing of ${shown} was submitted yet: ${command('submit', shown)} does that, and ${command('run', shown, '--local', 'MODEL')} answers it without a batch API`,
    EXIT.inputMissing,
  );
}

function addressFor({ baseUrl }: ServerSettings, submission: Submission | undefined, { batch, shown }: Opened): string {
  const address = baseUrl ?? submission?.baseUrl ?? batch.baseUrl;
  if (address !== undefined) return address;
  throw new UserError(
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
