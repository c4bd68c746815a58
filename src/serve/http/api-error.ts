// What a client is told when its request cannot be served, in the shape that OpenAI's errors have.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code: string,
    readonly param: string | null = null,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  get body(): { readonly error: Readonly<Record<string, unknown>> } {
    return { error: { message: this.message, type: typeOf(this.status), param: this.param, code: this.code } };
  }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** A value that the request may not have; `param` says where it stands, null for the body itself. */
export function invalid(message: string, param: string | null, code = 'invalid_value'): ApiError {
  return new ApiError(400, message, code, param);
}

/** A parameter that is not served, at `place`. */
export function unsupported(place: string): ApiError {
  return invalid(`'${place}' is not supported`, place, 'unsupported_parameter');
}

/** For a name under which nothing is served. */
export function unknownModel(model: string, served: readonly string[]): ApiError {
  const names = served.map((name) => `'${name}'`).join(', ');
  return new ApiError(404, `the model '${model}' does not exist; this server has ${names}`, 'model_not_found', 'model');
}

export function shuttingDown(): ApiError {
  return new ApiError(503, 'the server is shutting down', 'shutting_down', null, { connection: 'close' });
}

/** Of any error that ends its request. `signal` is the visit's; `onError` is told of what clients are not. */
export function toldOf(error: unknown, signal: AbortSignal, onError?: (error: unknown) => void): ApiError {
  if (error instanceof ApiError) return error;
  if (signal.aborted) return shuttingDown();
  onError?.(error);
  return new ApiError(500, "the engine failed; the server's own messages say why", 'engine_failed');
}

/** For a prompt of so many tokens, which are more than a slot holds. */
export function contextOverflow(tokens: number | string, contextSize: number): ApiError {
  const message = `the prompt contains ${tokens} tokens, but the model's maximum context length is ${contextSize} tokens; shorten it, or serve with a larger --context`;
  return new ApiError(400, message, 'context_length_exceeded', 'messages');
}
