// A run held against another, or against what it has to reach, as a document: the gate's report with the comparison in it, and their words.

import { UserError } from '../core/errors.js';
import { openingOf } from '../report/comparison.js';
import { factsOf, type GateReport, gateDocument, headlineOf, reasonsIn, ruleTable } from '../report/gate.js';
import { isOneRun } from '../results/comparability.js';
import { gateReport } from '../results/gate.js';
import type { ReadRun } from '../results/read-run.js';
import { defaultPolicy } from '../stats/policy.js';
import type { CompareDocument } from './documents.js';

/** Two runs compared, and what the gate says of the candidate by the policy that needs no file. */
export function compareDocument(base: ReadRun, candidate: ReadRun): CompareDocument {
  const names = { base: base.name, candidate: candidate.name, gate: null };
  if (isOneRun({ base, candidate })) return { ...names, why: 'This is one and the same run; choose two.' };
  const domains = new Set([...base.rows, ...candidate.rows].map(({ domain }) => domain));
  try {
    return verdictDocument(gateReport({ base, candidate }, defaultPolicy({}, [...domains])));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...names, why: error.message };
  }
}

/** What a gate decided. */
export function verdictDocument(report: GateReport): CompareDocument {
  const { base, candidate, comparison, rules } = report;
  const apart = rules.filter(({ kind, verdict }) => kind === 'identity' && verdict === 'INCOMPLETE');
  return {
    base: base?.name ?? null,
    candidate: candidate.name,
    why: apart.map(({ sentence }) => sentence).join(' ') || null,
    gate: {
      ...gateDocument(report),
      opening: base && comparison ? openingOf({ base, candidate, comparison }) : null,
      headline: headlineOf(report),
      facts: factsOf(report),
      reasons: reasonsIn(report),
      table: ruleTable(report),
    },
  };
}
