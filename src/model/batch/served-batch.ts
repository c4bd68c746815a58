// A batch and a file as a server describes them: what is known of them is read, and whatever else stands there is passed over.

import { z } from 'zod';
import { oneLine } from '../../core/printable.js';
import type { Redact } from '../../core/redaction.js';

/** What may be left out, or be of another form than expected, without making the whole unreadable. */
function perhaps<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined);
}

/** An id becomes part of an address. Some gateways pack whole documents into theirs. */
const id = z.string().regex(/^[\x21-\x7e]{1,2048}$/);
const count = z.int().nonnegative();
/** Seconds since 1970. */
const time = z.number().positive();

const FILE = z.object({ id, bytes: perhaps(count), filename: perhaps(z.string()) });
const BATCH = z.object({
  id,
  status: z.string(),
  created_at: perhaps(time),
  expires_at: perhaps(time),
  completed_at: perhaps(time),
  failed_at: perhaps(time),
  expired_at: perhaps(time),
  cancelled_at: perhaps(time),
  input_file_id: perhaps(id),
  output_file_id: perhaps(id),
  error_file_id: perhaps(id),
  request_counts: perhaps(z.object({ total: count, completed: count, failed: count })),
  errors: z.object({ data: z.array(z.unknown()) }).catch({ data: [] }),
  metadata: z.record(z.string(), z.unknown()).catch({}),
});
const PROBLEM = z
  .object({ code: z.string().catch(''), message: z.string().catch(''), line: perhaps(z.int()) })
  .catch({ code: '', message: '' });

/** The states in which a batch stays. */
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
const MOST_PROBLEMS = 20;

export type ServedFile = NonNullable<ReturnType<typeof readServedFile>>;
export type ServedBatch = NonNullable<ReturnType<typeof readServedBatch>>;

/** Undefined for what is no file. */
export function readServedFile(value: unknown) {
  return FILE.safeParse(value).data;
}

/** Undefined for what is no batch. */
export function readServedBatch(value: unknown, redact: Redact) {
  const read = BATCH.safeParse(value);
  if (!read.success) return undefined;
  const { data } = read;
  // As the server says it; later versions may know more states.
  const status = oneLine(redact(data.status), 40);
  // What tells the end of a state that nobody knows here.
  const endedAt = data.completed_at ?? data.failed_at ?? data.expired_at ?? data.cancelled_at;
  return {
    id: data.id,
    status,
    /** Whether nothing more comes of it. */
    isEnded: ENDED.includes(status) || endedAt !== undefined,
    createdAt: data.created_at,
    expiresAt: data.expires_at,
    inputFileId: data.input_file_id,
    outputFileId: data.output_file_id,
    errorFileId: data.error_file_id,
    counts: data.request_counts,
    problems: data.errors.data.slice(0, MOST_PROBLEMS).map((problem) => {
      const { code, message, line } = PROBLEM.parse(problem);
      /** `line` is one of the input file. */
      return { code: oneLine(redact(code), 60), message: oneLine(redact(message), 300), line };
    }),
    metadata: data.metadata,
  };
}
