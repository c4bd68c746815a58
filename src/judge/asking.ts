// One judgement: the parts of a mode asked one after the other, each until its reply can be read, by one and the same snapshot; and its record
// in a run's journal: what it was made from and with, and whether it still holds.

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
  /** Reads the prediction. No text is held while a call waits. */
  read(): Promise<Subject>;
  /** Tries for each part in all. */
  readonly maxRetries: number;
  /** Under which seed a try is asked, by the 0-based numbers of part and try. */
  seedOf(part: number, tried: number): number;
  /** Told a reply that could not be read and is asked for again. */
  onUnread(reply: string): unknown;
}

/** Asks, and makes the record of what was read. A part that no try could be read of may stand for something, or fails the judgement. */
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

/** A judge that is asked in a run: how judging and calibrating both put predictions to it. */
export function openJudge(run: Run, settings: Readonly<{ maxRetries: number; keepGoing: boolean }>, method: Method) {
  const { journal } = run;
  const judged = [...journal.ids()].find((id) => journal.summaryOf(id)?.status === 'ok');
  if (run.identity.snapshot === undefined && judged !== undefined) {
    // From the rows judged before, where a kill left it out of the manifest.
    adoptSnapshot(run, recordedJudgement(journal.read(judged).row).judge.model);
  }
  const watch = legibilityWatch(journal, settings);
  const { maxRetries } = settings;
  return {
    /** Who ends a judging of which nothing can be read. */
    watch,
    /** The record of a judgement. `seedOf` is as `judgementOf` has it. */
    async judge(job: Judged, read: () => Promise<Subject>, seedOf: Judging['seedOf'], ask: AskModel) {
      // Of batch files each further try is another batch: what cannot be read is noted at once.
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
 * A judge is the snapshot that answers, not the name it is asked by.
 * @throws UserError (78) where the server reports another one than for the rows judged before.
 */
function adoptSnapshot(run: Run, served: string | undefined): void {
  const { snapshot } = run.identity;
  if (served === undefined || snapshot === served) return;
  if (snapshot !== undefined) {
    throw identityDiffers(
      `the judge now answers as "${served}", the rows before were judged by "${snapshot}": ratings of two judges must not mix; ask for one snapshot by its full name, or start over with --fresh${run.kind === 'judge' ? ' (--recheck N measures the shift)' : ''}`,
    );
  }
  run.identity = { ...run.identity, snapshot: served };
}

/** What ratings depend on beside what is rated: which judge, told what, read how. */
export function identityOfJudge(
  { target, method, settings }: { readonly target: Target; readonly method: Method; readonly settings: AskingSettings },
  stored: Manifest | undefined,
): Identity {
  return {
    // A judge that was not started is taken to be the run's own.
    judge: target.identity ?? stored?.identity.judge,
    // Found out by asking: the snapshot behind the name. A later one is refused while rows are being judged.
    ...(stored?.identity.snapshot === undefined ? {} : { snapshot: stored.identity.snapshot }),
    ...method.identity,
    sampling: samplingIdentity(settings, stored),
  };
}

/** A judgement; `stamp` tells what it is made from. */
type Judged = Readonly<Record<'id' | 'stamp', string>>;

/** The stamp of a judgement (see `StageOutput.stampOf`). Where no judge had a say, it does not matter how judges are asked. */
export function stampOf({ stamp }: Pick<Judged, 'stamp'>, failure: string | undefined, mark: string): string {
  return isUnasked(failure) ? stamp : `${stamp} ${mark}`;
}

/** A new record, for the journal; its log has nothing of what it cost. */
export function recordOf(job: Judged, record: JudgementRecord, mark: string): JournalRecord {
  const failure = record.judge.status === 'failed' ? record.judge.class : undefined;
  const stamp = stampOf(job, failure, mark);
  return { id: job.id, row: record, log: { [stampKeyOf('judge')]: stamp, at: new Date().toISOString() } };
}

/** Whether there is a record that is not stale, and that judging again would not mend. */
export function holds({ journal }: Run, job: Judged, mark: string): boolean {
  const summary = journal.summaryOf(job.id);
  return summary !== undefined && summary.stamp === stampOf(job, summary.class, mark) && isDone(summary);
}

/** Whether a judgement need not be asked for again: what the world model caused, no judge can mend. */
export function isDone({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** What a judgement's record has come to. @throws TypeError for what judging never writes. */
export function judgementState({ row }: JournalRecord): RowState {
  const { judge } = recordedJudgement(row);
  return {
    status: judge.status,
    ...(judge.status === 'failed' ? { class: judge.class, reason: judge.reason } : {}),
    flags: [],
  };
}

/** So many judgements that could not be read, with none that could, are enough to see that the judge is none. */
const HOPELESS = 20;
/** How much of a reply is shown, in terminal columns. */
const MOST_SHOWN = 200;

/** Ends a judging (65) of which nothing can be read, in this session and in those before. */
function legibilityWatch(journal: Run['journal'], { keepGoing }: { readonly keepGoing: boolean }) {
  let isOver = keepGoing;
  let asking: Beginning | undefined;
  const found = new Set<string>();
  /** A judgement could not be read; `reply` is the last one to it. */
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

/** Whether a judge was asked, and understood. */
function isRead(summary: RowSummary | undefined): boolean {
  return summary?.status === 'ok' && summary.attempts > 0;
}

/** As `judgementState`, of a calibration, where an empty prediction, which is rated 1 without a call, is as it was planned. */
export function calibrationState(record: JournalRecord): RowState {
  const state = judgementState(record);
  return state.class === 'empty' ? { status: 'ok', flags: [] } : state;
}
