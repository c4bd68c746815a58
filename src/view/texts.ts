// The texts of samples, as a page holds them: each different text once, since turns of one trajectory share their history.

import { difference } from '../core/difference.js';
import { UserError } from '../core/errors.js';
import type { Fact } from '../core/facts.js';
import type { RowTextData, SideTextData, TextsData } from './data.js';
import { scriptJson } from './html.js';

/** One side of a sample's texts: a prediction and what the judge said of it. */
interface SideTexts {
  /** Empty where there is none. */
  readonly prediction: string;
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  readonly facts?: readonly Fact[];
  readonly judgeReply?: string;
  readonly judgeReasoning?: string;
}

export interface SampleTexts extends SideTexts {
  readonly truth: string;
  readonly action: string;
  readonly history: readonly { readonly action: string; readonly observation: string }[];
  readonly systemPrompt: string;
  /** What the sample took, a line each for prediction and judgement. */
  readonly spent?: readonly string[];
  readonly other?: SideTexts | undefined;
}

/** Characters that a page can hold: one text of JavaScript has no room for more than about 500 million, and JSON escapes some. */
const MOST_IN_ALL = 250e6;

/**
 * Collects texts. Once they are more than so many characters, or than a page can hold, histories are left out, those already collected
 * too. `add` throws UserError (2) for more than a page can hold without histories.
 * @param fewer how to have fewer samples on the page
 */
export function collectTexts(
  most = Number.POSITIVE_INFINITY,
  fewer = 'give --run a judged file of fewer rows',
  mostInAll = MOST_IN_ALL,
) {
  const limit = Math.min(most, mostInAll);
  const strings: string[] = [];
  const places = new Map<string, number>();
  /** Places of texts that stand elsewhere than in a history. */
  const needed = new Set<number>();
  let rows: RowTextData[] = [];
  let size = 0;
  const placeOf = (text: string) => {
    const known = places.get(text);
    if (known !== undefined) return known;
    size += text.length;
    places.set(text, strings.length);
    return strings.push(text) - 1;
  };
  const needs = (text: string) => {
    const place = placeOf(text);
    needed.add(place);
    return place;
  };
  const sideOf = (truth: string, side: SideTexts): SideTextData => ({
    prediction: side.prediction === '' ? undefined : needs(side.prediction),
    steps: side.prediction === '' ? undefined : difference(truth, side.prediction),
    strengths: side.strengths,
    weaknesses: side.weaknesses,
    facts: side.facts?.length ? side.facts : undefined,
    reply: side.judgeReply === undefined ? undefined : needs(side.judgeReply),
    thoughts: side.judgeReasoning === undefined ? undefined : needs(side.judgeReasoning),
  });
  const leaveHistoriesOut = () => {
    texts.hasHistories = false;
    rows = rows.map(({ history: _, ...row }) => row);
    for (const [text, place] of places) {
      if (needed.has(place)) continue;
      places.delete(text);
      strings[place] = '';
      size -= text.length;
    }
  };
  const texts = {
    /** In MB, what the texts with their histories may come to. */
    limit: Number((limit / 1e6).toFixed(6)),
    hasHistories: true,
    add({ truth, action, history, systemPrompt, spent, other, ...own }: SampleTexts) {
      const turns = texts.hasHistories ? history : undefined;
      rows.push({
        ...sideOf(truth, own),
        truth: needs(truth),
        action: needs(action),
        history: turns?.flatMap((turn) => [placeOf(turn.action), placeOf(turn.observation)]),
        system: systemPrompt === '' ? undefined : needs(systemPrompt),
        spent: spent?.length ? spent : undefined,
        other: other && sideOf(truth, other),
      });
      if (texts.hasHistories && size > limit) leaveHistoriesOut();
      if (size <= mostInAll) return;
      throw new UserError(
        `the texts of this run are more than ${mostInAll / 1e6} MB without histories, too many for one page; ${fewer}`,
      );
    },
    /** JSON that can stand inside a script element. */
    json: () => scriptJson({ strings, rows } satisfies TextsData),
  };
  return texts;
}
export type Texts = ReturnType<typeof collectTexts>;
