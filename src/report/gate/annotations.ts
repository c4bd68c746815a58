// What a gate decided, as annotations of a job in CI, in which no text acts.

import type { GateOutcome, RuleResult } from '../../decision.js';
import { oneLine } from '../../printable.js';
import type { GatePage } from './page.js';

/** GitHub shows at most this many annotations of each kind for a step. */
const ANNOTATION_LIMIT = 10;

/**
 * Annotations as workflow commands: an error for each breach and for missing evidence, a warning for each open rule, and a notice for
 * each rule that is broken and does not count. Of each kind at most ten are shown, those with the greatest impact; where there are
 * more, the last one says how many. A GO and advice have a notice of their own. Ends in a line feed.
 */
export function annotations({ verdict, summary, rules }: GatePage): string {
  const hasNotice = verdict === 'GO' || verdict === 'ADVICE';
  const whole = hasNotice ? [{ title: `awb gate: ${verdict}`, text: summary }] : [];
  const titled = (found: readonly RuleResult[]) =>
    [...found]
      .sort((a, b) => b.impact - a.impact)
      .map((rule) => ({ title: `awb gate: ${verdictIn(rule)}, ${rule.name}`, text: rule.sentence }));
  const broken = (rule: RuleResult) => rule.verdict === 'NO-GO' || rule.verdict === 'INCOMPLETE';
  const kinds = {
    error: titled(rules.filter((rule) => rule.counts && broken(rule))),
    warning: titled(rules.filter((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE')),
    notice: [...whole, ...titled(rules.filter((rule) => !rule.counts && rule.verdict === 'NO-GO'))],
  };
  return Object.entries(kinds)
    .flatMap(([kind, found]) => limited(found).map(({ title, text }) => command(kind, title, text)))
    .join('');
}

/** A rule's verdict as a title has it: that of an advisory rule is advice, whatever it found. */
function verdictIn({ verdict, tier }: RuleResult): GateOutcome {
  return tier === 'advisory' ? 'ADVICE' : verdict;
}

interface Annotation {
  readonly title: string;
  readonly text: string;
}

function limited(found: readonly Annotation[]): readonly Annotation[] {
  if (found.length <= ANNOTATION_LIMIT) return found;
  const shown = found.slice(0, ANNOTATION_LIMIT - 1);
  return [...shown, { title: 'awb gate', text: `${found.length - shown.length} more; the job summary has them all.` }];
}

/** `%` is escaped first of all, so that no text brings an escape of its own. */
function command(kind: string, title: string, text: string): string {
  const data = (value: string) =>
    oneLine(value, 1000).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = data(title).replaceAll(':', '%3A').replaceAll(',', '%2C');
  // The runner would find a command of the older form anywhere in the line.
  return `::${kind} title=${property}::${data(text)}`.replace(/##(?=\[)/g, '# #').concat('\n');
}
