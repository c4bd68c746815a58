// Lines that an instruction gives no reason to change, and how many of them a prediction keeps.

import type { Pattern } from '../../scenario.js';
import { compilePattern } from './pattern.js';

/**
 * Of the lines that the world model predicts rightly without the instruction (those of the truth that its twin has, too; without a
 * twin those of the truth, without a truth those of the twin), how many the prediction has. Blank lines do not count, nor those in
 * which `except` is found; white space at both ends is no difference. A line that stands twice has to be there twice. A line end that
 * is written as `\n`, as in JSON packed into a text, is one, too.
 */
export function keptLines(
  { prediction, truth, twin }: { readonly prediction: string; readonly truth?: string; readonly twin?: string },
  except?: Pattern,
): { readonly kept: number; readonly of: number } {
  const changing = except === undefined ? undefined : compilePattern(except);
  const reference = common(linesOf(truth ?? twin ?? ''), linesOf(twin ?? truth ?? '')).filter(
    (line) => changing?.test(line) !== true,
  );
  return { kept: common(reference, linesOf(prediction)).length, of: reference.length };
}

function linesOf(text: string): string[] {
  return text.split(/\n|\\n/).flatMap((line) => line.trim() || []);
}

/** The lines that both have, as often as both have them, in the order of the first. */
function common(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count > 0;
  });
}
