// Who listens to the asking of infer and judge.

import type { Io } from '../types.js';
import { type BudgetSettings, budgetListener } from './budget.js';
import { type EventsSettings, eventsListener } from './events-listener.js';
import type { StageListener } from './listeners.js';
import { type ProgressSettings, progressListener } from './progress-listener.js';

/** @throws UserError: where the file of events cannot be written, see `eventsListener` */
export function listenersOf(io: Io, settings: ProgressSettings & BudgetSettings & EventsSettings): StageListener[] {
  const { budgetUsd, budgetTokens, events } = settings;
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  return [
    progressListener(io.stderr, settings),
    ...(hasBudget ? [budgetListener(settings)] : []),
    ...(events === undefined ? [] : [eventsListener(events, settings, io)]),
  ];
}
