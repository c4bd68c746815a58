// What is said of an action that brought nothing about, and of a context that fills.

import { EXIT, type ExitCode } from '../../../errors.js';
import { grouped } from '../../../figures.js';
import type { Room } from '../../../model/context.js';
import { countTags, PREDICTION_TAG, withoutThought } from '../../../reply.js';
import type { StepOutcome } from '../simulation.js';

type Failed = Exclude<StepOutcome, { status: 'ok' }>;
type Acted = Extract<StepOutcome, { status: 'ok' }>;

const FULL =
  '/undo and /reset go back, /save keeps what has happened, and a longer context goes further (awb serve --context, vLLM --max-model-len)';

/** Why nothing has happened, with the next step. */
export function faultText(outcome: Failed): string {
  switch (outcome.status) {
    case 'empty': {
      const why = outcome.truncated ? ', as --max-tokens or the context ended it before one came' : '';
      return `the reply holds no observation${why}: the turn was not added; /retry asks anew`;
    }
    case 'failed': {
      const { stop, class: kind, reason } = outcome.failure;
      if (stop !== undefined) return `the world model gave no reply: ${stop.message}`;
      const next = kind === 'context-overflow' ? FULL : '/retry asks again';
      return `the world model gave no reply (${kind}: ${reason}): the turn was not added; ${next}`;
    }
    case 'interrupted':
      return 'stopped: the turn was not added; /keep adds it with what had come, /retry asks anew';
    case 'full':
      return `the context is full: this turn would take about ${grouped(outcome.room.promptTokens)} of ${grouped(outcome.room.contextTokens)} tokens, which leaves no room for a reply; ${FULL}`;
    case 'spent':
      return `${outcome.reason}: nothing was asked; /save keeps what has happened`;
    default:
      return outcome satisfies never;
  }
}

const TRUNCATED =
  'the reply was cut off by its budget (--max-tokens) or by the context: the turn stands as it is; /retry asks anew';
const UNTAGGED = `the reply has no <${PREDICTION_TAG}>: all of it that is not thinking was taken for the observation`;

/** Whether an observation stood in no tag. */
export function isUntagged({ reply }: Acted): boolean {
  return countTags(withoutThought(reply.content), PREDICTION_TAG) === 0;
}

/** What is odd about a turn that was added. */
export function remarksOn(outcome: Acted): string[] {
  return [...(outcome.truncated ? [TRUNCATED] : []), ...(isUntagged(outcome) ? [UNTAGGED] : [])];
}

/** What a script is told by the exit code. */
export function exitCodeOf(outcome: Failed): ExitCode {
  switch (outcome.status) {
    case 'empty':
    case 'full':
      return EXIT.incomplete;
    case 'failed': {
      const { stop, class: kind } = outcome.failure;
      const isModels = kind === 'refused' || kind === 'context-overflow';
      return stop?.exitCode ?? (isModels ? EXIT.incomplete : EXIT.unavailable);
    }
    case 'interrupted':
      return EXIT.interrupted;
    case 'spent':
      return EXIT.later;
    default:
      return outcome satisfies never;
  }
}

/** Said before the context is full. */
export function roomText({ promptTokens, contextTokens }: Room): string {
  const share = Math.floor((100 * promptTokens) / contextTokens);
  return `the context is ${share} % full: about ${grouped(promptTokens)} of ${grouped(contextTokens)} tokens`;
}
