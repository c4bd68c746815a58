// What a gate decided, as the summary of a job in CI.

import { oneLine } from '../../printable.js';
import { differenceTable } from '../comparison/table.js';
import { markdownTable, markdownText } from '../formats/markdown.js';
import { factsOf, type GatePage, headlineOf, isReason } from './page.js';
import { ruleTable } from './table.js';

/** GitHub refuses a step's summary above this many bytes. */
export const SUMMARY_LIMIT = 1024 * 1024;

/**
 * The job summary in Markdown, of at most `limit` bytes. What decides comes first; where something does not fit, a line says so.
 * Empty where not even the verdict fits.
 */
export function jobSummary(page: GatePage, limit = SUMMARY_LIMIT): string {
  const item = (text: string) => `- ${markdownText(oneLine(text, 2000))}\n`;
  const list = (items: readonly string[]) => (items.length === 0 ? '' : `${items.map(item).join('')}\n`);
  const sections = [
    `## ${page.verdict}: ${markdownText(oneLine(namesOf(page), 200))}\n\n${markdownText(headlineOf(page))}\n\n`,
    list(factsOf(page)),
    `${markdownTable(ruleTable(page))}\n`,
    ...page.rules.filter(isReason).map(({ sentence }) => item(sentence)),
    '\n',
    page.notes.map((note) => `> ${markdownText(oneLine(note, 1000))}\n\n`).join(''),
    list(page.further),
    ...(page.comparison === undefined ? [] : [`${markdownTable(differenceTable(page.comparison, 'overall'))}\n`]),
  ];
  const leftOut = '\nThe rest does not fit into the job summary; the JSON report has it.\n';
  let text = '';
  let bytes = 0;
  for (const [index, section] of sections.entries()) {
    const size = bytesOf(section);
    const reserve = index === sections.length - 1 ? 0 : bytesOf(leftOut);
    if (bytes + size + reserve > limit) {
      const room = limit - bytes - bytesOf(leftOut);
      return index === 0 || room < 0 ? text : text + leftOut;
    }
    text += section;
    bytes += size;
  }
  return text;
}

function namesOf({ base, candidate }: GatePage): string {
  return base === undefined ? candidate.name : `${candidate.name} against ${base.name}`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
