// A prompt: rendered by the chat template that the model's file carries, tokenised piece by piece, checked; and back to text.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { EXIT, UserError } from '../errors.js';
import {
  EngineError,
  type EngineMessage,
  type EnginePrompt,
  type PromptOptions,
  type Tool,
} from './engine-contract.js';
import type { Loaded } from './load.js';
import type { MessageMarks } from './prompt-plan.js';
import { asTokens, type Jinja, type LlamaCpp, lineOf } from './runtime.js';

export interface Templating {
  /** The text of a prompt. Throws EngineError where the template refuses, or knows nothing of tools that are given. */
  render(messages: readonly EngineMessage[], tools: readonly Tool[], options: PromptOptions): string;
  readonly marks: MessageMarks | undefined;
}

/** Stands for any message's text while the template is asked how it marks messages. */
const PROBE = 'Q7x';

/** Throws UserError (65) for a file without a template, or with one that cannot be read. */
export function readTemplate({ model }: Loaded, { Template }: Jinja, path: string): Templating {
  const source = model.fileInfo.metadata.tokenizer?.chat_template;
  if (source === undefined)
    throw new UserError(`${path} has no chat template; use a file of an instruction-tuned model`, EXIT.badData);
  const template = parseTemplate(Template, source, path);
  const fixed = { bos_token: model.tokens.bosString ?? '', eos_token: model.tokens.eosString ?? '' };
  const render = (
    messages: readonly EngineMessage[],
    add_generation_prompt: boolean,
    extra: Readonly<Record<string, unknown>> = {},
  ): string => template.render({ ...extra, ...fixed, messages, add_generation_prompt });
  return {
    marks: findMarks(model, (add) => render([{ role: 'user', content: PROBE }], add)),
    render(messages, tools, { templateArguments, addGenerationPrompt }) {
      try {
        const plain = render(messages, addGenerationPrompt, templateArguments);
        if (tools.length === 0) return plain;
        const equipped = render(messages, addGenerationPrompt, { ...templateArguments, tools });
        if (equipped !== plain) return equipped;
      } catch (error) {
        throw new EngineError({
          reason: 'invalid-request',
          message: `the model's chat template refuses the messages: ${lineOf(error)}`,
          param: 'messages',
        });
      }
      const message = "'tools' is not supported: the model's chat template says nothing of them";
      throw new EngineError({ reason: 'invalid-request', message, param: 'tools' });
    },
  };
}

function parseTemplate(Template: Jinja['Template'], source: string, path: string): InstanceType<Jinja['Template']> {
  try {
    return new Template(source);
  } catch (error) {
    throw new UserError(
      `the chat template of ${path} cannot be read (${lineOf(error)}); use another file of the model`,
      EXIT.badData,
    );
  }
}

/** Special tokens around messages, read off a rendered message; undefined where the template uses none. */
function findMarks(model: LlamaCpp.LlamaModel, render: (add: boolean) => string): MessageMarks | undefined {
  let [plain, prompting] = ['', ''];
  try {
    [plain, prompting] = [render(false), render(true)];
  } catch {
    // A template that wants more than a lone user message says nothing about its marks.
    return undefined;
  }
  const [openerId] = model.tokenize(prompting.slice(plain.length), true);
  const [closerId] = model.tokenize(plain.slice(plain.lastIndexOf(PROBE) + PROBE.length), true);
  if (openerId === undefined || closerId === undefined || !prompting.startsWith(plain)) return undefined;
  if (!model.isSpecialToken(openerId) || !model.isSpecialToken(closerId)) return undefined;
  return { opener: model.detokenize([openerId], true), openerId, closer: model.detokenize([closerId], true) };
}

/** Characters a token above which a text is first counted in pieces: few texts have so many and fit. */
const USUAL_CHARACTERS = 4;
/** Characters that are tokenised in some tens of milliseconds. */
const PIECE = 2 ** 16;
/** Tokens that a cut in the middle of a word can add, at most. */
const CUT_TOKENS = 16;

/** What the engine does with prompts before they are evaluated. Each method throws EngineError for what cannot be served. */
export class PromptTokens {
  readonly #model: LlamaCpp.LlamaModel;
  readonly #template: Templating;
  readonly #contextSize: number;
  readonly #vocabularySize: number;

  constructor(model: LlamaCpp.LlamaModel, template: Templating, contextSize: number) {
    this.#model = model;
    this.#template = template;
    this.#contextSize = contextSize;
    this.#vocabularySize = model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  }

  /** The text that is evaluated, and its tokens. */
  async of(prompt: EnginePrompt, options: PromptOptions): Promise<{ text: string; tokens: readonly number[] }> {
    if ('tokens' in prompt) return { text: this.textOf(prompt.tokens), tokens: prompt.tokens };
    const text =
      'text' in prompt
        ? this.#withBos(prompt.text)
        : this.#template.render(prompt.messages, prompt.tools ?? [], options);
    return { text, tokens: await this.#tokenizeWithin(text) };
  }

  tokenize(text: string): readonly number[] {
    return this.#model.tokenize(text, true);
  }

  textOf(tokens: readonly number[]): string {
    const odd = tokens.find((token) => token >= this.#vocabularySize);
    if (odd === undefined) return this.#model.detokenize(asTokens(tokens), true);
    const message = `${odd} is no token of this model, which has ${this.#vocabularySize}`;
    throw new EngineError({ reason: 'invalid-request', message, param: 'prompt' });
  }

  /** The tokenizer blocks everything else, so that a text that cannot fit is refused after its first pieces. */
  async #tokenizeWithin(text: string): Promise<readonly number[]> {
    const contextSize = this.#contextSize;
    let counted = 0;
    for (let at = 0; text.length > USUAL_CHARACTERS * contextSize && at < text.length; at += PIECE) {
      counted += Math.max(0, this.tokenize(text.slice(at, at + PIECE)).length - CUT_TOKENS);
      if (counted > contextSize) {
        throw new EngineError({ reason: 'context-overflow', promptTokens: counted, contextSize, more: true });
      }
      await nextTurn();
    }
    return this.tokenize(text);
  }

  /** For plain text: a chat template writes the mark itself. */
  #withBos(text: string): string {
    const { bosString, shouldPrependBosToken } = this.#model.tokens;
    return shouldPrependBosToken && bosString != null && !text.startsWith(bosString) ? bosString + text : text;
  }
}
