// Who listens to the asking of infer and judge.

import type { Io } from '../types.js';
import { budgetListener } from './budget.js';
import type { BatchSettings } from './by-batch/options.js';
import { type EventsSettings, eventsListener } from './events-listener.js';
import type { StageListener } from './listeners.js';
import type { BudgetSettings } from './options.js';
import { type ProgressSettings, progressListener } from './progress-listener.js';
import type { Run } from './run.js';

/** @throws UserError: where the file of events is one of the run's own or cannot be written, see `eventsListener` */
export function listenersOf(
  io: Io,
  settings: ProgressSettings & BudgetSettings & EventsSettings & BatchSettings,
  run: Pick<Run, 'files'>,
): StageListener[] {
  const { budgetUsd, budgetTokens, events, batchDir, finishOnline } = settings;
  // Results of a batch are paid for, so they are read whatever they cost; what is written is held to the budget elsewhere.
  const asksLive = batchDir === undefined || finishOnline === true;
  const hasBudget = asksLive && (budgetUsd !== undefined || budgetTokens !== undefined);
  return [
    progressListener(io, settings),
    ...(hasBudget ? [budgetListener(settings)] : []),
    ...(events === undefined ? [] : [eventsListener(events, settings, io, run.files)]),
  ];
}
