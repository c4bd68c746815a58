// The `custom_id` of a request in a batch file: which job it is of, how many were made for that before, and what it says; made here alone.

import { hash } from 'node:crypto';

/** What tells a request from every other one. */
interface Named {
  /** The job's id, as the journal has it. */
  readonly job: string;
  /** Requests made for the job before this one. */
  readonly attempt: number;
  /** Its body as it is sent, or what that is made from and with. */
  readonly content: string;
}

/** Longer ids of jobs are hashed, so that a whole id has 64 characters at most. */
const LONGEST_JOB = 40;
const DIGEST = 10;
const BASE = 36;

/**
 * `<job>_<attempt>_<digest of the content>`: letters, digits, `-`, `_` and `.`. A request that would be made in another way today has
 * another name, so that no earlier result is taken for its answer.
 */
export function requestName({ job, attempt, content }: Named): string {
  return `${jobName(job)}_${attempt}_${digestOf(content, DIGEST)}`;
}

/** The name, and behind it the characters of the messages: whoever reads the answer need not make the request again to know them. */
export function customId(name: string, chars: number): string {
  return `${name}.${chars.toString(BASE)}`;
}

/** The parts of an id. What no file of requests has is no name either. */
export function readCustomId(id: string): { readonly name: string; readonly chars: number } {
  const end = id.indexOf('.', id.lastIndexOf('_'));
  if (end < 0) return { name: id, chars: 0 };
  return { name: id.slice(0, end), chars: Number.parseInt(id.slice(end + 1), BASE) || 0 };
}

/** The part of a name that is its job's. */
export function jobIn(name: string): string {
  return name.slice(0, name.lastIndexOf('_', name.lastIndexOf('_') - 1));
}

/** A job's id as names have it. Two jobs never share a text: the sign that stands for `#` is not let through, and neither is what a hash begins with. */
export function jobName(job: string): string {
  const text = job.replaceAll('#', '.');
  const isPlain = /^[A-Za-z0-9#-]+$/.test(job) && text.length <= LONGEST_JOB;
  return isPlain ? text : `_${digestOf(job, LONGEST_JOB - 1)}`;
}

function digestOf(text: string, digits: number): string {
  return hash('sha256', text, 'hex').slice(0, digits);
}
