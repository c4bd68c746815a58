// What a run on scenarios asks: chains of one step or more, each a scenario at a start, or the twin that it is held against.

import type { RowRef } from '../../benchmark/dataset.js';
import { rowId } from '../../core/row-id.js';
import { ownStart, scenarioKey, stepKey, twinKey } from '../../core/scenario-row.js';
import type { Domain } from '../../core/types.js';
import type { StageJob } from '../../run/stage-contract.js';
import type { Scenario } from './scenario.js';

/** Steps that follow one another, at a row of the data or at the suite's own start. */
export interface Chain {
  /** What its records are known by: of a row's twin the row's key, as of any prediction of the row. */
  readonly key: string;
  /** Rows of one trajectory share it; a start of the suite's own is one by itself. */
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row of the data; undefined at a start of the suite's own. */
  readonly row: RowRef | undefined;
  /** Undefined for a twin that several scenarios share: it is the row as it stands, whose only step is its own. */
  readonly scenario: Scenario | undefined;
  /** What it is held against; undefined for a twin itself. */
  readonly twin: Chain | undefined;
  readonly steps: number;
}

/** One step of a chain, asked once. */
export interface ScenarioJob extends StageJob {
  readonly chain: Chain;
  /** From 0. */
  readonly step: number;
}

/** A row as it stands. */
export function twinOfRow(row: RowRef): Chain {
  const { key, trajectory, domain } = row;
  return { key, trajectory, domain, row, scenario: undefined, twin: undefined, steps: 1 };
}

/** A scenario at a row, held against the row's twin; one of several steps has a twin of its own, which takes the same steps. */
export function chainAtRow(scenario: Scenario, row: Chain): Chain {
  const chain = { ...row, scenario, key: scenarioKey(row.key, scenario.name), steps: scenario.steps.length };
  return { ...chain, twin: chain.steps === 1 ? row : twinOf(chain) };
}

/** A scenario at its own start. */
export function chainAtStart(scenario: Scenario, domain: Domain): Chain {
  const key = scenarioKey(ownStart(scenario.name), scenario.name);
  const steps = scenario.steps.length;
  const chain: Chain = { key, trajectory: key, domain, row: undefined, scenario, twin: undefined, steps };
  return { ...chain, twin: twinOf(chain) };
}

function twinOf(chain: Chain): Chain {
  return { ...chain, key: twinKey(chain.key, chain.steps), twin: undefined };
}

/** A chain's steps in their order. Those of a chain of several are asked one after the other: each sees what came of those before. */
export function jobsOf(chain: Chain): ScenarioJob[] {
  const { domain, trajectory, key, steps } = chain;
  const isSerial = steps > 1;
  return Array.from({ length: steps }, (_, step) => ({
    id: stepId(chain, step),
    domain,
    group: isSerial ? key : trajectory,
    serial: isSerial || undefined,
    isFurther: !isSample({ chain, step }) || undefined,
    chain,
    step,
  }));
}

/** Whether a step stands for a sample: a chain is one, known by its last step, and a twin is none. */
export function isSample({ chain: { twin, steps }, step }: Pick<ScenarioJob, 'chain' | 'step'>): boolean {
  return twin !== undefined && step === steps - 1;
}

/** The journal's id of a step. */
export function stepId(chain: Chain, step: number): string {
  return rowId(keyOfStep(chain, step), 0);
}

/** What a step's record is known by; the last one stands for the chain. */
export function keyOfStep({ key, steps }: Chain, step: number): string {
  return stepKey(key, step, steps);
}
