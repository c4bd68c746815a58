// The texts of samples, as a page holds them: each different text once, since turns of one trajectory share their history.

import { difference } from '../core/difference.js';
import type { Fact } from '../core/facts.js';
import { scriptJson } from '../report/html.js';
import type { RowTextData, SideTextData, TextsData } from './data.js';

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

/** Collects texts. Once they are more than so many characters, histories are left out, those already collected too. */
export class Texts {
  readonly #most: number;
  readonly #strings: string[] = [];
  readonly #places = new Map<string, number>();
  /** Places of texts that stand elsewhere than in a history. */
  readonly #needed = new Set<number>();
  readonly #rows: RowTextData[] = [];
  #size = 0;
  hasHistories = true;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  add({ truth, action, history, systemPrompt, spent, other, ...own }: SampleTexts): void {
    this.#rows.push({
      ...this.#side(truth, own),
      truth: this.#needs(truth),
      action: this.#needs(action),
      history: this.hasHistories
        ? history.flatMap((turn) => [this.#placeOf(turn.action), this.#placeOf(turn.observation)])
        : undefined,
      system: systemPrompt === '' ? undefined : this.#needs(systemPrompt),
      spent: spent?.length ? spent : undefined,
      other: other && this.#side(truth, other),
    });
    if (this.hasHistories && this.#size > this.#most) this.#dropHistories();
  }

  /** JSON that can stand inside a script element. */
  json(): string {
    const rows = this.hasHistories ? this.#rows : this.#rows.map(({ history: _, ...row }) => row);
    return scriptJson({ strings: this.#strings, rows } satisfies TextsData);
  }

  #side(
    truth: string,
    { prediction, strengths, weaknesses, facts, judgeReply, judgeReasoning }: SideTexts,
  ): SideTextData {
    const isPredicted = prediction !== '';
    return {
      prediction: isPredicted ? this.#needs(prediction) : undefined,
      steps: isPredicted ? difference(truth, prediction) : undefined,
      strengths,
      weaknesses,
      facts: facts?.length ? facts : undefined,
      reply: judgeReply === undefined ? undefined : this.#needs(judgeReply),
      thoughts: judgeReasoning === undefined ? undefined : this.#needs(judgeReasoning),
    };
  }

  #needs(text: string): number {
    const place = this.#placeOf(text);
    this.#needed.add(place);
    return place;
  }

  #placeOf(text: string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#size += text.length;
    this.#places.set(text, this.#strings.length);
    return this.#strings.push(text) - 1;
  }

  #dropHistories(): void {
    this.hasHistories = false;
    for (const [text, place] of this.#places) {
      if (this.#needed.has(place)) continue;
      this.#places.delete(text);
      this.#strings[place] = '';
    }
  }
}
