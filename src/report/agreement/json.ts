// A judge held against people, as JSON.

import type { Coefficient, FigureAgreement, GroupAgreement, PeopleAgreement } from '../../people.js';
import { DIMENSIONS } from '../../types.js';
import { estimateDocument } from '../document.js';

/** The figures of an agreement. They are unrounded, and null where there are none. */
export function agreementDocument(found: PeopleAgreement) {
  return {
    raters: Object.fromEntries(found.raters),
    ...groupDocument(found),
    domains: Object.fromEntries(found.domains.map((each) => [each.domain, groupDocument(each)])),
    too_few_trajectories: Object.fromEntries(found.scarce),
  };
}

function groupDocument({ predictions, trajectories, dimensions, total }: GroupAgreement) {
  return {
    predictions,
    trajectories,
    dimensions: Object.fromEntries(DIMENSIONS.map((name) => [name, figureDocument(dimensions[name], 'kappa')])),
    total: figureDocument(total, 'alpha'),
  };
}

function figureDocument({ judge, people, bias }: FigureAgreement, name: 'kappa' | 'alpha') {
  return {
    judge: coefficientDocument(judge, name),
    people: coefficientDocument(people, name),
    bias: bias === undefined ? null : estimateDocument(bias),
  };
}

function coefficientDocument(coefficient: Coefficient | undefined, name: 'kappa' | 'alpha') {
  if (coefficient === undefined) return null;
  const { value, rows, clusters, interval } = coefficient;
  return { [name]: value, low: interval?.low ?? null, high: interval?.high ?? null, rows, clusters };
}
