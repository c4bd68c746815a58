// submission.json of a batch folder: what was sent where, and what came of it, as it is told to whoever goes on later.

import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../disk/files.js';
import { readDocument } from './folder.js';
import type { ServedBatch } from './served-batch.js';

const SCHEMA = 'awb.batch-submission/1';
const SUBMISSION = 'submission.json';

const count = z.int().nonnegative();
/** A file of results that lies in the folder. */
const FETCHED = z.object({ file: z.string(), bytes: count });
const SENT = z.object({
  /** The file of requests. */
  part: z.string(),
  /** Host and port that it was sent to. */
  host: z.string(),
  requests: count,
  bytes: count,
  /** The name that the server keeps the file under, which no other upload has. */
  fileName: z.string(),
  inputFileId: z.string().optional(),
  /** Stands in the batch's metadata, so that a batch is found again of which no answer came. */
  key: z.string().optional(),
  /** The batch may have been made under that key, and nobody has heard of it yet. */
  isOpen: z.literal(true).optional(),
  /** Refused since too many tokens waited already: behind how many batches of this folder, one of which has to end first. */
  waitsBehind: count.optional(),
  batchId: z.string().optional(),
  status: z.string().optional(),
  isEnded: z.literal(true).optional(),
  /** Seconds since 1970. */
  createdAt: z.number().optional(),
  expiresAt: z.number().optional(),
  counts: z.object({ total: count, completed: count, failed: count }).optional(),
  problems: z
    .array(z.object({ code: z.string(), message: z.string(), line: z.int().optional() }))
    .readonly()
    .optional(),
  outputFileId: z.string().optional(),
  errorFileId: z.string().optional(),
  outputs: FETCHED.optional(),
  errors: FETCHED.optional(),
  /** Files of results that the server has no more. */
  lost: z.array(z.string()).readonly().optional(),
});
const SUBMISSION_SCHEMA = z
  .object({
    schema: z.literal(SCHEMA),
    /** Without credentials. */
    baseUrl: z.string(),
    /** In the order in which it was. */
    sent: z.array(SENT).readonly(),
  })
  .transform(({ schema: _, ...submission }) => submission);

/** A part, or what was left of it, as it was sent once. */
export type Sent = z.infer<typeof SENT>;
export type Submission = z.infer<typeof SUBMISSION_SCHEMA>;

/**
 * What was submitted of a folder; undefined where nothing was. `shown` is the folder as people are shown it.
 * @throws UserError: 65 where it is damaged, 66 where it cannot be read
 */
export function readSubmission(dir: string, shown: string): Promise<Submission | undefined> {
  const damaged = `${shown}/${SUBMISSION} is damaged, or of another version of awb; restore it: without it nobody knows what was submitted`;
  return readDocument(join(dir, SUBMISSION), SUBMISSION_SCHEMA, damaged);
}

/** Puts it in the place of the one before, whole. @throws UserError (74) where the disk refuses */
export async function writeSubmission(dir: string, { baseUrl, sent }: Submission): Promise<void> {
  const text = `${JSON.stringify({ schema: SCHEMA, baseUrl, sent }, null, 2)}\n`;
  const remedy = 'make room or mend its rights, and run the same command again: what was sent is found again';
  await replaceFile(join(dir, SUBMISSION), [text], { remedy });
}

/** What is known of a batch, with what the server says of it now. */
export function withServed(sent: Sent, served: ServedBatch): Sent {
  const { isOpen: _, waitsBehind: __, ...rest } = sent;
  return {
    ...rest,
    batchId: served.id,
    status: served.status,
    isEnded: served.isEnded || undefined,
    createdAt: served.createdAt ?? sent.createdAt,
    expiresAt: served.expiresAt ?? sent.expiresAt,
    counts: served.counts ?? sent.counts,
    problems: served.problems.length > 0 ? served.problems : sent.problems,
    outputFileId: served.outputFileId ?? sent.outputFileId,
    errorFileId: served.errorFileId ?? sent.errorFileId,
  };
}

/** Whether the server still works on it. */
export function isLive({ batchId, isEnded }: Sent): boolean {
  return batchId !== undefined && !isEnded;
}

/** The files of results that the server has and that are not here yet; none while it is at work. */
export function resultsToFetch({ isEnded, outputFileId, errorFileId, outputs, errors, lost = [] }: Sent) {
  if (!isEnded) return [];
  const files = [
    { kind: 'outputs', id: outputFileId, fetched: outputs },
    { kind: 'errors', id: errorFileId, fetched: errors },
  ] as const;
  return files.flatMap(({ kind, id, fetched }) =>
    id === undefined || fetched !== undefined || lost.includes(id) ? [] : [{ kind, id }],
  );
}
