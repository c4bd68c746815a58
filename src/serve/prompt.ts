// The chat template in a model's file: how it renders and marks messages, and where a prompt's evaluation pauses because later prompts may
// diverge there.

import { badData } from '../core/errors.js';
import { invalid } from './http/wire.js';
import { type Jinja, type LlamaCpp, lineOf } from './inner-calls.js';
import type { Loaded } from './load.js';
import type { EngineMessage, PromptOptions, Tool } from './request.js';
import { commonPrefix, type Prompt } from './scheduler.js';

export type Templating = ReturnType<typeof readTemplate>;

/** Sample text of a message, to find out how the template marks messages. */
const PROBE = 'Q7x';

/** Throws UserError (65) if the file has no template, or one that cannot be read. */
export function readTemplate({ model, jinja: { Template } }: Loaded, path: string) {
  const source = model.fileInfo.metadata.tokenizer?.chat_template;
  if (source === undefined) throw badData(`${path} has no chat template; use a file of an instruction-tuned model`);
  let template: InstanceType<Jinja['Template']>;
  try {
    template = new Template(source);
  } catch (error) {
    const why = `the chat template of ${path} cannot be read (${lineOf(error)})`;
    throw badData(`${why}; use another file of the model`);
  }
  const fixed = { bos_token: model.tokens.bosString ?? '', eos_token: model.tokens.eosString ?? '' };
  const render = (
    messages: readonly EngineMessage[],
    add_generation_prompt: boolean,
    extra: Readonly<Record<string, unknown>> = {},
  ): string => template.render({ ...extra, ...fixed, messages, add_generation_prompt });
  return {
    marks: findMarks(model, (add) => render([{ role: 'user', content: PROBE }], add)),
    /** The text of a prompt. Throws ApiError if the template rejects the messages, or ignores given tools. */
    render(
      messages: readonly EngineMessage[],
      tools: readonly Tool[],
      { templateArguments, addGenerationPrompt }: PromptOptions,
    ): string {
      try {
        const plain = render(messages, addGenerationPrompt, templateArguments);
        if (tools.length === 0) return plain;
        const equipped = render(messages, addGenerationPrompt, { ...templateArguments, tools });
        if (equipped !== plain) return equipped;
      } catch (error) {
        throw invalid(`the model's chat template refuses the messages: ${lineOf(error)}`, 'messages');
      }
      throw invalid("'tools' is not supported: the model's chat template ignores them", 'tools');
    },
  };
}

/** Special tokens around messages, found in a rendered message; undefined if the template uses none. */
function findMarks(model: LlamaCpp.LlamaModel, render: (add: boolean) => string): MessageMarks | undefined {
  let [plain, prompting] = ['', ''];
  try {
    [plain, prompting] = [render(false), render(true)];
  } catch {
    // A template that needs more than a lone user message does not reveal its marks.
    return undefined;
  }
  const [openerId] = model.tokenize(prompting.slice(plain.length), true);
  const [closerId] = model.tokenize(plain.slice(plain.lastIndexOf(PROBE) + PROBE.length), true);
  if (openerId === undefined || closerId === undefined || !prompting.startsWith(plain)) return undefined;
  if (!model.isSpecialToken(openerId) || !model.isSpecialToken(closerId)) return undefined;
  return { opener: model.detokenize([openerId], true), openerId, closer: model.detokenize([closerId], true) };
}

/** The special tokens that open and close each message in a chat template, as text and as id. */
export interface MessageMarks {
  readonly opener: string;
  readonly openerId: number;
  readonly closer: string;
}

/** Start of the benchmark's request to predict; it follows only the last turn, and is gone once that turn is history. */
const REQUEST_TO_PREDICT = '\n\nPlease analyze the input above';

/**
 * Where prompts of awb's judge diverge inside a message (judge/answer-mark.ts): after each earlier turn, where the next turn's prompt
 * continues, and before the prediction, since all predictions of a row share the prompt up to it.
 */
const JUDGE_CUTS = /<\/observation-[0-9a-f]{12}>\n|(?<=\n)(?=<prediction-[0-9a-f]{12} turn=)/g;
/** An upper limit: a judge's text may be full of such lines. */
const MOST_CUTS = 64;

/** Without known marks: tokens between pauses. */
const GRID = 512;

/**
 * Pauses a prompt where later prompts may diverge: at the start of every user message, and at the end of the part that remains once it is
 * history (before the request to predict, else its end). Earlier messages pause like the last one, because each was the last one in an
 * earlier prompt whose state is to be reused. Checkpoints: after the system message, at both pauses of the last user message, and at the
 * last position in it where a judge's prompts diverge.
 *
 * The end in tokens is where the text followed by a blank line and the text followed by the closing mark still agree: a tokeniser may
 * merge a blank line with what precedes it.
 */
export function planPrompt(
  text: string,
  tokens: readonly number[],
  marks: MessageMarks | undefined,
  tokenize: (text: string) => readonly number[],
): Prompt {
  const starts = marks === undefined ? [] : tokens.flatMap((token, at) => (token === marks.openerId ? [at] : []));
  const parts = marks === undefined ? [] : text.split(marks.opener).slice(1);
  if (marks === undefined || starts.length === 0 || starts.length !== parts.length) {
    const pauses = tokens.flatMap((_, at) => (at > 0 && at % GRID === 0 ? [at] : []));
    return { tokens, pauses, checkpoints: pauses.slice(-1) };
  }
  const users = starts.flatMap((start, index) => {
    const part = parts[index] ?? '';
    if (!/^\s*user\b/.test(part)) return [];
    // Drop what the next turn's prompt omits.
    const cut = [REQUEST_TO_PREDICT, marks.closer].map((text) => part.lastIndexOf(text)).find((at) => at >= 0);
    const kept = marks.opener + part.slice(0, cut);
    const end = start + commonPrefix(tokenize(`${kept}\n\nP`), tokenize(kept + marks.closer));
    return { start, end, cuts: judgeCuts(marks.opener + part, tokens.slice(start), tokenize).map((at) => start + at) };
  });
  const inside = (at: number | undefined): at is number => at !== undefined && at > 0 && at < tokens.length;
  const last = users.at(-1);
  const ascending = (positions: readonly (number | undefined)[]): number[] =>
    [...new Set(positions.filter(inside))].sort((a, b) => a - b);
  return {
    tokens,
    pauses: ascending(users.flatMap(({ start, end, cuts }) => [start, ...cuts, end])),
    checkpoints: ascending([users[0]?.start, last?.start, ...(last?.cuts.slice(-1) ?? []), last?.end]),
  };
}

/**
 * The cuts of a message in tokens, up to and including the first one before a prediction: no other prompt shares what follows. Each
 * stretch between two cuts is tokenised on its own, so that the cost is linear in the history's length; if that gives tokens other than
 * the message's, the rest has no cuts.
 */
function judgeCuts(
  message: string,
  tokens: readonly number[],
  tokenize: (text: string) => readonly number[],
): number[] {
  const cuts: number[] = [];
  let [from, place] = [0, 0];
  for (const { index, 0: line } of message.matchAll(JUDGE_CUTS)) {
    const to = index + line.length;
    const stretch = tokenize(message.slice(from, to));
    const same = commonPrefix(stretch, tokens.slice(place, place + stretch.length));
    [from, place] = [to, place + same];
    cuts.push(place);
    if (same < stretch.length || line === '' || cuts.length === MOST_CUTS) break;
  }
  return cuts;
}
