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
