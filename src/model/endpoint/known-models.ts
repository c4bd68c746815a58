// What a server says about its models at /models: their names, their context, and what `awb serve` adds.

import { isObject, type JsonObject } from '../../core/json.js';
import { type Redact, redactValue } from '../../core/redaction.js';
import { isTokenCount } from '../../core/usage.js';
import { readStart, type Wire } from '../http/wire.js';
import { tidy } from '../http/wording.js';

/** The key of an entry of /models under which `awb serve` describes its model. */
const FACTS_KEY = 'agentworldbench';
/** How long the list is waited for. */
const MODELS_MS = 2_000;
const MOST_MODELS_TEXT = 2 ** 22;

/** A server that cannot be reached, or has no such list, counts as one without models. Nothing here rejects. */
export class KnownModels {
  readonly #wire: Wire;
  readonly #redact: Redact;
  #entries: Promise<readonly JsonObject[]> | undefined;

  constructor(wire: Wire, redact: Redact) {
    this.#wire = wire;
    this.#redact = redact;
  }

  async names(): Promise<readonly string[]> {
    const ids = (await this.#list()).map(({ id }) => id).filter((id) => typeof id === 'string');
    return ids.map((id) => tidy(id, this.#redact, () => true));
  }

  /** What `awb serve` says about its model (file, quantisation, cache ...); undefined for any other server. */
  async facts(): Promise<JsonObject | undefined> {
    const own = (await this.#list()).map((entry) => entry[FACTS_KEY]).find(isObject);
    try {
      const shown = own === undefined ? undefined : redactValue(own, this.#redact);
      return isObject(shown) ? shown : undefined;
    } catch {
      // The value is nested too deeply to be walked.
      return undefined;
    }
  }

  /**
   * The context of a model in tokens, where the server tells it, and whether it refuses a prompt that fits without its whole budget
   * (vLLM and SGLang); others end the reply at the context's end. `rootUrl` is the server's, without /v1; where it is absent, nothing
   * is asked but /models.
   */
  async context(
    model: string,
    rootUrl?: string,
  ): Promise<{ readonly tokens: number; readonly refusesBudgets: boolean } | undefined> {
    const entries = await this.#list();
    const entry = entries.find(({ id }) => id === model) ?? (entries.length === 1 ? entries[0] : undefined);
    if (entry === undefined) return undefined;
    const tokens = contextLengthOf(entry) ?? (await this.#contextOfLlamaCpp(entry, rootUrl));
    const refusesBudgets = entry.owned_by === 'vllm' || entry.owned_by === 'sglang';
    return tokens === undefined ? undefined : { tokens, refusesBudgets };
  }

  /** llama.cpp's server tells a slot's context beside its API, at /props. */
  async #contextOfLlamaCpp({ owned_by }: JsonObject, rootUrl: string | undefined): Promise<number | undefined> {
    if (owned_by !== 'llamacpp' || rootUrl === undefined) return undefined;
    const { default_generation_settings: settings } = await this.#document(`${rootUrl}/props`);
    return isObject(settings) && isTokenCount(settings.n_ctx) ? settings.n_ctx : undefined;
  }

  #list(): Promise<readonly JsonObject[]> {
    this.#entries ??= this.#document('/models').then(({ data }) => {
      const found = Array.isArray(data) ? data.filter(isObject) : [];
      // A server that is still loading may tell later.
      if (found.length === 0) this.#entries = undefined;
      return found;
    });
    return this.#entries;
  }

  /** The JSON object at that path; an empty one if there is none, or the server cannot be reached. */
  async #document(path: string): Promise<JsonObject> {
    try {
      const response = await this.#wire.get(path, AbortSignal.timeout(MODELS_MS));
      const document: unknown = JSON.parse(await readStart(response, MOST_MODELS_TEXT));
      return isObject(document) ? document : {};
    } catch {
      return {};
    }
  }
}

/** The context length that an entry of /models tells: vLLM, SGLang and `awb serve`, Mistral, OpenRouter, Groq, newer llama.cpp. */
function contextLengthOf(entry: JsonObject): number | undefined {
  const nCtx = isObject(entry.meta) ? entry.meta.n_ctx : undefined;
  const told = [entry.max_model_len, nCtx, entry.max_context_length, entry.context_length, entry.context_window];
  return told.filter(isTokenCount).find((length) => length > 0);
}
