// The `custom_id` of a request in a batch file: which job it is of, how many were made for that before, and what it says; made here alone.

import { hash } from 'node:crypto';

/** What an id is made of. */
interface RequestName {
  /** The job's id, as the journal has it. */
  readonly job: string;
  /** Requests made for the job before this one. */
  readonly attempt: number;
  /** The request's body as it is sent. */
  readonly body: string;
}

/** Longer ids of jobs are hashed, so that a whole id has 64 characters at most. */
const LONGEST_JOB = 44;
const DIGEST = 12;

/**
 * `<job>_<attempt>_<digest of the body>`: letters, digits, `-`, `_` and `.`, at most 64 characters. A request that would be made in
 * another way today has another id, so that no earlier result is taken for its answer.
 */
export function customId({ job, attempt, body }: RequestName): string {
  return `${safe(job)}_${attempt}_${digestOf(body, DIGEST)}`;
}

/** Two jobs never share a text: the sign that stands for `#` is not let through, and neither is what a hash begins with. */
function safe(job: string): string {
  const text = job.replaceAll('#', '.');
  const isPlain = /^[A-Za-z0-9#-]+$/.test(job) && text.length <= LONGEST_JOB;
  return isPlain ? text : `_${digestOf(job, LONGEST_JOB - 1)}`;
}

function digestOf(text: string, digits: number): string {
  return hash('sha256', text, 'hex').slice(0, digits);
}
