// The published results of AgentWorldBench: the fourteen rows of the model card.

import { present } from '../core/errors.js';
import { DOMAINS, type Domain } from '../core/types.js';

/** The source of the figures: scores of 0-100, each a mean of the five dimensions over all 2,170 rows of the benchmark. */
export const PUBLISHED_SOURCE = {
  text: 'model card of Qwen/Qwen-AgentWorld-35B-A3B, AgentWorldBench (open-ended evaluation)',
  judge: 'gpt-5.2-2025-12-11',
  rows: 2170,
} as const;

/** Notes shown with these rows. */
export const PUBLISHED_NOTES = [
  `published: ${PUBLISHED_SOURCE.text}, judge ${PUBLISHED_SOURCE.judge}; official figures, not ranked, tested or marked.`,
  'Qwen-AgentWorld-397B-A17B: its Overall is published as 58.71, the mean of its columns is 58.76.',
];

export interface PublishedRow {
  readonly model: string;
  readonly scores: ReadonlyMap<Domain, number>;
  /** As published; in one row it is not the mean of the scores. */
  readonly overall: number;
}

/** Model, then a score for each domain in the published order, then Overall. */
const LINES: readonly (readonly [model: string, ...figures: number[]])[] = [
  ['GPT-5.4', 70.1, 37.26, 53.69, 66.29, 60, 51.8, 68.58, 58.25],
  ['Claude Opus 4.8', 54.93, 35.14, 59.18, 64.1, 61.5, 54.66, 66.62, 56.59],
  ['Claude Opus 4.6', 69.9, 29.3, 57.51, 64.55, 61.74, 51.42, 70.2, 57.8],
  ['Gemini 3.1 Pro', 59.07, 30.21, 52.47, 59.07, 61.4, 52.83, 66.92, 54.57],
  ['Claude Sonnet 4.6', 70, 28.79, 56.98, 64.52, 58.03, 50.78, 63.17, 56.04],
  ['DeepSeek-V4-Pro', 63.27, 27.61, 51.26, 59.44, 55.17, 50.32, 63.7, 52.97],
  ['GLM-5.1', 67.6, 22.46, 47.32, 52.07, 59.1, 51.5, 59.13, 51.31],
  ['Kimi K2.6', 65.23, 27.48, 52.54, 58.77, 58.93, 50.2, 60.8, 53.42],
  ['MiniMax-M2.7', 55.82, 27.3, 41.62, 37.44, 52.4, 50.52, 57.73, 46.12],
  ['Qwen3.5-35B-A3B', 57.87, 25.98, 46.13, 47.58, 53.18, 47.1, 56.27, 47.73],
  ['Qwen3.5-397B-A17B', 68.31, 30.81, 55.3, 64.44, 54.9, 48.55, 60.85, 54.74],
  ['Qwen3.6-Plus', 55.28, 21.94, 50.58, 59.08, 57.65, 50.78, 60.33, 50.81],
  ['Qwen-AgentWorld-35B-A3B', 64.79, 36.69, 53.96, 65.63, 58.17, 49.55, 65.92, 56.39],
  ['Qwen-AgentWorld-397B-A17B', 68.24, 37.82, 57.73, 68.49, 60.2, 50.98, 67.89, 58.71],
];

export const PUBLISHED: readonly PublishedRow[] = LINES.map(([model, ...figures]) => ({
  model,
  scores: new Map(DOMAINS.map((domain, place) => [domain, present(figures[place])])),
  overall: present(figures.at(-1)),
}));
