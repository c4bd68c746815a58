// One judgement: the parts of a mode are asked one after another, each until its reply can be read, all of the same snapshot. Also its
// record in a run's journal: what it was made from and with, and whether it is still valid.

import { EXIT, identityDiffers, present } from '../core/errors.js';
import type { Identity } from '../core/identity.js';
import { isUnasked, type JudgementRecord, recordedJudgement } from '../core/judgement.js';
import { isModelCaused } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import type { JournalRecord } from '../run/journal.js';
import type { Manifest } from '../run/manifest.js';
import { type AskingSettings, samplingIdentity } from '../run/options.js';
import { type RowState, type RowSummary, type Run, stampKeyOf } from '../run/run.js';
import { type AskModel, type Beginning, markOf, type StageListener } from '../run/stage-contract.js';
import type { Target } from '../run/target.js';
import type { Answer, Method, Reading, Subject } from './mode.js';

interface Judging {
  readonly method: Pick<Method, 'parts' | 'join' | 'fail'>;
  /** Reads the prediction. No text is kept in memory while a call waits. */
  read(): Promise<Subject>;
  /** Maximum tries for each part. */
  readonly maxRetries: number;
  /** The seed offset of a try, by the 0-based numbers of part and try. */
  seedOf(part: number, tried: number): number;
  /** Called with a reply that could not be read and will be asked for again. */
  onUnread(reply: string): unknown;
}

/** Asks, and makes the record of what was read. If no try of a part can be read, a substitute takes its place or the judgement fails. */
export async function judgementOf(judging: Judging, ask: AskModel): Promise<JudgementRecord> {
  const { method, read, maxRetries, seedOf, onUnread } = judging;
  const answers: Answer<Reading>[] = [];
  for (let tried = 0; ; ) {
    const place = answers.length;
    const partOf = (subject: Subject) => present(method.parts(subject)[place]);
    const seedOffset = seedOf(place, tried);
    const outcome = await ask(async () => ({ ...partOf(await read()).request(tried), seedOffset }));
    const subject = await read();
    if (outcome.status === 'failed') {
      return method.fail({ class: `judge-${outcome.class}`, reason: outcome.reason }, subject);
    }
    const part = partOf(subject);
    let reading = part.read(outcome, tried);
    if (reading.status === 'unreadable') {
      if (++tried < maxRetries) {
        onUnread(outcome.content);
        continue;
      }
      const reason = outcome.finishReason === 'length' ? `${reading.reason} (cut off at max_tokens)` : reading.reason;
      if (part.unread === undefined) return method.fail({ class: 'unreadable', reason }, subject, outcome);
      reading = part.unread;
    }
    tried = 0;
    answers.push({ reading, reply: outcome });
    if (answers.length === method.parts(subject).length) return method.join(answers, subject);
  }
}

/** Opens the judge of a run: judging and calibrating both put predictions to it in this way. */
export function openJudge(run: Run, settings: Readonly<{ maxRetries: number; keepGoing: boolean }>, method: Method) {
  const { journal } = run;
  const judged = [...journal.ids()].find((id) => journal.summaryOf(id)?.status === 'ok');
  if (run.identity.snapshot === undefined && judged !== undefined) {
    // Taken from rows judged earlier if the run was killed before it reached the manifest.
    adoptSnapshot(run, recordedJudgement(journal.read(judged).row).judge.model);
  }
  const watch = legibilityWatch(journal, settings);
  const { maxRetries } = settings;
  return {
    /** The listener that ends a judging in which nothing can be read. */
    watch,
    /** The record of a judgement. `seedOf` as in `judgementOf`. */
    async judge(job: Judged, read: () => Promise<Subject>, seedOf: Judging['seedOf'], ask: AskModel) {
      // With batch files, each further try takes another batch, so an unreadable reply is counted immediately.
      const onUnread = (reply: string) => run.batch !== undefined && watch.unread(job.id, reply);
      const askSame: AskModel = async (question) => {
        const outcome = await ask(question);
        if (outcome.status === 'ok') adoptSnapshot(run, outcome.servedModel);
        return outcome;
      };
      return recordOf(job, await judgementOf({ method, read, maxRetries, seedOf, onUnread }, askSame), markOf(run));
    },
    questions: async (read: () => Promise<Subject>) => method.parts(await read()).map((part) => part.request(0)),
  };
}

/**
 * A judge is identified by the snapshot that answers, not by the name used to ask it.
 * @throws UserError (78) if the server reports another snapshot than for the rows judged before.
 */
function adoptSnapshot(run: Run, served: string | undefined): void {
  const { snapshot } = run.identity;
  if (served === undefined || snapshot === served) return;
  if (snapshot !== undefined) {
    throw identityDiffers(
      `the judge now answers as "${served}", but earlier rows were judged by "${snapshot}": ratings of two judges must not be mixed; request one snapshot by its full name, or start over with --fresh${run.kind === 'judge' ? ' (--recheck N measures the shift)' : ''}`,
    );
  }
  run.identity = { ...run.identity, snapshot: served };
}

/** What ratings depend on besides the rated material: the judge, its instructions, and the reading of its replies. */
export function identityOfJudge(
  { target, method, settings }: { readonly target: Target; readonly method: Method; readonly settings: AskingSettings },
  stored: Manifest | undefined,
): Identity {
  return {
    // A judge that was not started is assumed to be the run's own.
    judge: target.identity ?? stored?.identity.judge,
    // Known only after asking: the snapshot behind the name. A different one is refused while rows are being judged.
    ...(stored?.identity.snapshot === undefined ? {} : { snapshot: stored.identity.snapshot }),
    ...method.identity,
    sampling: samplingIdentity(settings, stored),
  };
}

/** A judgement; `stamp` identifies what it is made from. */
type Judged = Readonly<Record<'id' | 'stamp', string>>;

/** The stamp of a judgement (see `StageOutput.stampOf`). If no judge was involved, the way judges are asked does not matter. */
export function stampOf({ stamp }: Pick<Judged, 'stamp'>, failure: string | undefined, mark: string): string {
  return isUnasked(failure) ? stamp : `${stamp} ${mark}`;
}

/** A new record for the journal; its log contains nothing about cost. */
export function recordOf(job: Judged, record: JudgementRecord, mark: string): JournalRecord {
  const failure = record.judge.status === 'failed' ? record.judge.class : undefined;
  const stamp = stampOf(job, failure, mark);
  return { id: job.id, row: record, log: { [stampKeyOf('judge')]: stamp, at: new Date().toISOString() } };
}

/** Whether there is a record that is not stale and that judging again would not improve. */
export function holds({ journal }: Run, job: Judged, mark: string): boolean {
  const summary = journal.summaryOf(job.id);
  return summary !== undefined && summary.stamp === stampOf(job, summary.class, mark) && isDone(summary);
}

/** Whether a judgement need not be asked for again: a failure caused by the world model cannot be fixed by a judge. */
export function isDone({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** The result in a judgement's record. @throws TypeError for content that judging never writes. */
export function judgementState({ row }: JournalRecord): RowState {
  const { judge } = recordedJudgement(row);
  return {
    status: judge.status,
    ...(judge.status === 'failed' ? { class: judge.class, reason: judge.reason } : {}),
    flags: [],
  };
}

/** After this many unreadable judgements and none that could be read, the model is clearly unfit as a judge. */
const HOPELESS = 20;
/** How much of a reply is shown, in terminal columns. */
const MOST_SHOWN = 200;

/** Ends a judging (65) in which nothing can be read, in this session and the earlier ones. */
function legibilityWatch(journal: Run['journal'], { keepGoing }: { readonly keepGoing: boolean }) {
  let isOver = keepGoing;
  let asking: Beginning | undefined;
  const found = new Set<string>();
  /** Called when a judgement could not be read; `reply` is its last reply. */
  const unread = (id: string, reply = '') => {
    if (isOver || found.add(id).size < HOPELESS) return;
    const shown = reply.trim() === '' ? 'is empty' : `reads "${oneLine(reply, MOST_SHOWN)}"`;
    asking?.stop(`none of ${found.size} judgements could be read, and the last reply ${shown}`, EXIT.badData);
  };
  return {
    unread,
    begins(beginning) {
      asking = beginning;
      for (const id of journal.ids()) {
        const summary = journal.summaryOf(id);
        isOver ||= isRead(summary);
        if (isOver) break;
        if (summary?.class === 'unreadable') found.add(id);
      }
    },
    settled({ id }, summary) {
      isOver ||= isRead(summary);
      if (isOver || summary.class !== 'unreadable') return;
      const { judge } = recordedJudgement(journal.read(id).row);
      unread(id, judge.status === 'failed' ? judge.raw_output : undefined);
    },
  } satisfies StageListener & { readonly unread: typeof unread };
}

/** Whether a judge was asked and its reply could be read. */
function isRead(summary: RowSummary | undefined): boolean {
  return summary?.status === 'ok' && summary.attempts > 0;
}

/** Like `judgementState`, but for a calibration: an empty prediction, rated 1 without a call, is as planned. */
export function calibrationState(record: JournalRecord): RowState {
  const state = judgementState(record);
  return state.class === 'empty' ? { status: 'ok', flags: [] } : state;
}
