// Who listens to the asking of infer and judge.

import type { Io } from '../types.js';
import { type BudgetSettings, budgetListener } from './budget.js';
import type { StageListener } from './listeners.js';
import { type ProgressSettings, progressListener } from './progress-listener.js';

export function listenersOf(io: Io, settings: ProgressSettings & BudgetSettings): StageListener[] {
  const { budgetUsd, budgetTokens } = settings;
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  return [progressListener(io.stderr, settings), ...(hasBudget ? [budgetListener(settings)] : [])];
}
