// Progress on stderr, as the first listener of a stage.

import type { Io } from '../types.js';
import { spendingOf, spendingText } from './budget.js';
import type { StageListener } from './listeners.js';
import type { BudgetSettings } from './options.js';
import { openProgress, type Progress } from './progress/progress.js';
import type { RowSummary } from './run.js';
import type { StageJob } from './stage-contract.js';

interface ProgressSettings extends BudgetSettings {
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
}

/** Shows the asking on stderr, from its beginning to its end. */
export function progressListener(io: Pick<Io, 'stderr' | 'env'>, settings: ProgressSettings): StageListener {
  const { quiet, verbose, color } = settings;
  let progress: Progress | undefined;
  const settled = new Set<string>();
  return {
    begins({ kind: title, totals, already, status, ledger }) {
      const spending = () => spendingText(spendingOf(ledger, settings));
      progress = openProgress(io, { title, totals, already, status, spending, quiet, verbose, color });
    },
    settled(job, summary) {
      progress?.settled(job.domain, {
        status: summary.status,
        isAgain: settled.has(job.id),
        tokens: summary.usage.completionTokens ?? 0,
        ...(summary.status === 'ok' ? {} : { reason: failureLine(job, summary) }),
      });
      settled.add(job.id);
    },
    notice(text) {
      progress?.notice(text);
    },
    ends() {
      progress?.finish();
    },
  };
}

function failureLine(job: StageJob, { class: failure = 'unknown', reason }: RowSummary): string {
  return [job.domain, job.id, failure, ...(reason === undefined ? [] : [reason])].join(' ');
}
