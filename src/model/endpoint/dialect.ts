// What the run has learned about the parameters that its servers take, shared by all endpoints.

/** The parameters that bound the reply's length, the older name first. */
export const MAX_TOKENS = 'max_tokens';
export const MAX_COMPLETION_TOKENS = 'max_completion_tokens';

const STREAM_OPTIONS = 'stream_options';

export type Dialect = ReturnType<typeof openDialect>;

/**
 * Opens a dialect. `onNotice` is told each change once, however many calls run into it. `dropped` are parameters left out from the
 * start, as an earlier session of the run found them rejected; so it is with the name of `max_tokens`.
 */
export function openDialect(options: {
  readonly allowParamDrop: boolean;
  onNotice(text: string): void;
  readonly dropped?: readonly string[];
  readonly isRenamed?: boolean;
}) {
  const rejects = new Set(options.dropped);
  if (options.isRenamed) rejects.add(MAX_TOKENS);
  // Without these no answer changes, but streamed replies may lack their usage.
  const isDrop = (name: string) => name !== MAX_TOKENS && name !== STREAM_OPTIONS;
  return {
    /** The request body as the servers take it: parameters renamed and left out. */
    translate(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
      const translated: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(body)) {
        if (!rejects.has(name)) translated[name] = value;
        else if (name === MAX_TOKENS) translated[MAX_COMPLETION_TOKENS] = value;
      }
      return translated;
    },
    /** Learns from a rejected parameter. True when a body translated anew is worth sending; false when the run must stop. */
    learn(rejected: string): boolean {
      if (isDrop(rejected) && (!options.allowParamDrop || rejected === MAX_COMPLETION_TOKENS)) return false;
      if (!rejects.has(rejected)) options.onNotice(`the server rejects ${rejected}: ${changeFor(rejected)}`);
      rejects.add(rejected);
      return true;
    },
    /** Parameters left out under `--allow-param-drop`, sorted: part of the run's identity. */
    dropped: (): readonly string[] => [...rejects].filter(isDrop).sort(),
    /** Whether `max_tokens` is sent under its newer name. */
    isRenamed: () => rejects.has(MAX_TOKENS),
  };
}

function changeFor(rejected: string): string {
  if (rejected === MAX_TOKENS) return `sent as ${MAX_COMPLETION_TOKENS} from now on`;
  if (rejected === STREAM_OPTIONS) return 'left out from now on, so token counts may be missing';
  return 'left out of every request of this run (--allow-param-drop)';
}
