// One part on its way: uploaded, then made into a batch, with a note on the disk before each step.

import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import { EXIT, UserError } from '../../errors.js';
import type { BatchPart } from '../../model/batch/folder.js';
import { isLive, type Sent } from '../../model/batch/submission.js';
import type { Desk } from './desk.js';
import { idsWithResult, leftOf, type PartToSend } from './left.js';
import { findMade, heard } from './refreshing.js';

export class Sending {
  #withResult: ReadonlySet<string> | undefined;

  /** `step` is told how far a part is. */
  constructor(
    private readonly desk: Desk,
    private readonly step: (text: string) => void,
  ) {}

  /**
   * Sends a part, going on where `before` ended. What has got its result since it was uploaded, or has become void, goes into no batch.
   * @returns what is known of it now; undefined where every request has its result already, or is void
   */
  async send(part: BatchPart, before: Sent | undefined): Promise<Sent | undefined> {
    const uploaded = await this.#upload(part, before);
    return uploaded && this.#create(uploaded);
  }

  async #upload(part: BatchPart, begun: Sent | undefined): Promise<Sent | undefined> {
    const { desk } = this;
    this.#withResult ??= await idsWithResult(desk.opened.dir);
    const file = await leftOf(desk.opened.dir, part, this.#withResult, uploadName(part));
    if (file === undefined) {
      if (begun !== undefined) await this.#giveUp(begun);
      return undefined;
    }
    if (begun !== undefined && isThat(begun, part, file)) {
      if (begun.inputFileId !== undefined) return begun;
      const kept = await this.#uploadedBefore(begun);
      const inputFileId = kept ?? (await this.#transfer({ ...file, name: begun.fileName }, part.file));
      return desk.change(begun, { ...begun, inputFileId });
    }
    const { name: fileName, requests, bytes } = file;
    const about = { part: part.file, host: desk.api.host, requests, bytes, ...voidIn(part), fileName };
    const sent = await (begun === undefined ? desk.add(about) : desk.change(begun, about));
    return desk.change(sent, { ...sent, inputFileId: await this.#transfer(file, part.file) });
  }

  /** What waited for room needs none any more. */
  async #giveUp(begun: Sent): Promise<void> {
    const { waitsBehind: _, ...rest } = begun;
    await this.desk.change(begun, rest);
  }

  /** A file that came over whole before the answer was lost. A server that lists none is sent it once more, which costs nothing. */
  async #uploadedBefore({ fileName, bytes }: Sent): Promise<string | undefined> {
    const asked = await this.desk.api.findFile((file) => file.name === fileName && (file.bytes ?? bytes) === bytes);
    return asked.status === 'ok' ? asked.value?.id : undefined;
  }

  async #transfer(file: PartToSend, part: string): Promise<string> {
    const { api } = this.desk;
    const asked = await api.upload(file, (sent) =>
      this.step(`${part}: uploading, ${Math.floor((100 * sent) / Math.max(1, file.bytes))} %`),
    );
    if (asked.status === 'refused') throw asked.stop;
    const { id, bytes = file.bytes } = asked.value;
    if (bytes === file.bytes) return id;
    throw new UserError(
      `${api.host} has ${bytes} bytes of ${part}, and ${file.bytes} were sent; run the same command again`,
      EXIT.unavailable,
    );
  }

  async #create(uploaded: Sent): Promise<Sent> {
    const { desk } = this;
    const { run, url } = desk.opened.batch;
    const key = randomBytes(12).toString('hex');
    const { waitsBehind: _, ...rest } = uploaded;
    const sent = await desk.change(uploaded, { ...rest, key, isOpen: true });
    const metadata = {
      awb_key: key,
      awb_part: sent.part,
      awb_kind: run.kind,
      awb_run: basename(run.dir).slice(0, 200),
      awb_fingerprint: run.fingerprint.slice(0, 64),
    };
    const inputFileId = sent.inputFileId ?? '';
    const asked = await desk.api.create({ inputFileId, url, metadata }, () => findMade(desk, sent));
    if (asked.status === 'ok') return desk.change(sent, heard(desk, sent, asked.value));
    const { isOpen: __, key: ___, ...unmade } = sent;
    if (asked.isFull) return desk.change(sent, { ...unmade, waitsBehind: desk.sent.filter(isLive).length });
    await desk.change(sent, unmade);
    throw asked.stop;
  }
}

/** Whether what was begun is what is left of the part now. Results only ever get more, so that as many requests are the same ones. */
function isThat(begun: Sent, part: BatchPart, { requests, bytes }: PartToSend): boolean {
  return begun.void === part.void && begun.requests === requests && begun.bytes === bytes;
}

/** What is noted of a part when it is sent. */
export function voidIn({ void: lines }: BatchPart): Pick<Sent, 'void'> {
  return lines === undefined ? {} : { void: lines };
}

/** A name that no other upload has, so that one is found again of which no answer came. */
export function uploadName({ file }: BatchPart): string {
  return `awb-${randomBytes(6).toString('hex')}-${file}`;
}
