// The texts of a report's samples, as the page holds them.

import { difference } from '../core/difference.js';
import type { Fact } from '../core/facts.js';
import { scriptJson } from '../report/html/frame.js';
import type { ChunkData, RowTextData, SideTextData } from './data.js';

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

/** The texts of a sample. */
export interface SampleTexts extends SideTexts {
  readonly truth: string;
  readonly action: string;
  readonly history: readonly { readonly action: string; readonly observation: string }[];
  readonly systemPrompt: string;
  /** What the sample took, a line each for prediction and judgement. */
  readonly spent?: readonly string[];
  readonly other?: SideTexts;
}

/** Texts of consecutive samples as the page's JSON: each different text once, since turns of one trajectory share their history. */
export interface TextsChunk {
  add(texts: SampleTexts): void;
  /** Characters so far, without what JSON adds. */
  readonly size: number;
  /** JSON that can stand inside a script element. */
  json(): string;
}

export function textsChunk(): TextsChunk {
  const places = new Map<string, number>();
  const rows: RowTextData[] = [];
  let size = 0;
  const placeOf = (text: string) => {
    const known = places.get(text);
    if (known !== undefined) return known;
    size += text.length;
    places.set(text, places.size);
    return places.size - 1;
  };
  const sideOf = (truth: string, side: SideTexts): SideTextData => ({
    ...(side.prediction === ''
      ? {}
      : { prediction: placeOf(side.prediction), steps: difference(truth, side.prediction) }),
    strengths: side.strengths,
    weaknesses: side.weaknesses,
    ...(side.facts === undefined || side.facts.length === 0 ? {} : { facts: side.facts }),
    ...(side.judgeReply === undefined ? {} : { reply: placeOf(side.judgeReply) }),
    ...(side.judgeReasoning === undefined ? {} : { thoughts: placeOf(side.judgeReasoning) }),
  });
  return {
    add(texts) {
      rows.push({
        ...sideOf(texts.truth, texts),
        truth: placeOf(texts.truth),
        action: placeOf(texts.action),
        history: texts.history.flatMap(({ action, observation }) => [placeOf(action), placeOf(observation)]),
        ...(texts.systemPrompt === '' ? {} : { system: placeOf(texts.systemPrompt) }),
        ...(texts.spent === undefined || texts.spent.length === 0 ? {} : { spent: texts.spent }),
        ...(texts.other === undefined ? {} : { other: sideOf(texts.truth, texts.other) }),
      });
    },
    get size() {
      return size;
    },
    json: () => scriptJson({ strings: [...places.keys()], rows } satisfies ChunkData),
  };
}
