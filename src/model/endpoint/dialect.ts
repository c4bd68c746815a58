// What the run has learned about the parameters that its servers take, shared by all endpoints.

/** The parameters that bound the reply's length, the older name first. */
export const MAX_TOKENS = 'max_tokens';
export const MAX_COMPLETION_TOKENS = 'max_completion_tokens';

export interface Dialect {
  /** The request body as the servers take it: parameters renamed and left out. */
  translate(body: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Learns from a rejected parameter. True when a body translated anew is worth sending; false when the run must stop. */
  learn(rejected: string): boolean;
  /** Parameters left out under `--allow-param-drop`, sorted: part of the run's identity. */
  dropped(): readonly string[];
  /** Whether `max_tokens` is sent under its newer name. */
  isRenamed(): boolean;
}

/**
 * Opens a dialect. `onNotice` is told each change once, however many calls run into it. `dropped` are parameters left out from the
 * start, as an earlier session of the run found them rejected; so it is with the name of `max_tokens`.
 */
export function openDialect(options: {
  readonly allowParamDrop: boolean;
  onNotice(text: string): void;
  readonly dropped?: readonly string[];
  readonly isRenamed?: boolean;
}): Dialect {
  let maxTokensRenamed = options.isRenamed ?? false;
  // Streamed replies may then lack their usage; no answer changes.
  let streamOptionsLeftOut = false;
  const dropped = new Set(options.dropped);
  return {
    translate(body) {
      const translated: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(body)) {
        if (dropped.has(name) || (streamOptionsLeftOut && name === 'stream_options')) continue;
        translated[maxTokensRenamed && name === MAX_TOKENS ? MAX_COMPLETION_TOKENS : name] = value;
      }
      return translated;
    },
    learn(rejected) {
      if (rejected === MAX_TOKENS) {
        if (!maxTokensRenamed) {
          options.onNotice(`the server rejects ${MAX_TOKENS}: sent as ${MAX_COMPLETION_TOKENS} from now on`);
        }
        maxTokensRenamed = true;
        return true;
      }
      if (rejected === 'stream_options') {
        if (!streamOptionsLeftOut) {
          options.onNotice(`the server rejects ${rejected}: left out from now on, so token counts may be missing`);
        }
        streamOptionsLeftOut = true;
        return true;
      }
      if (!options.allowParamDrop || rejected === MAX_COMPLETION_TOKENS) return false;
      if (!dropped.has(rejected)) {
        options.onNotice(`the server rejects ${rejected}: left out of every request of this run (--allow-param-drop)`);
      }
      dropped.add(rejected);
      return true;
    },
    dropped: () => [...dropped].sort(),
    isRenamed: () => maxTokensRenamed,
  };
}
