// A request of a batch, answered live: what the server said, and the line of a results file that tells it.

import { randomBytes } from 'node:crypto';

/** An answer over HTTP, whatever its status. */
export interface HttpAnswer {
  readonly status: number;
  /** Empty where the server names none. */
  readonly requestId: string;
  /** A JSON document, as it came. */
  readonly body: string;
}

/** Why there was no answer. */
interface NoAnswer {
  readonly code: string;
  readonly message: string;
}

/** A line of results as OpenAI writes it. The body's bytes are the server's own, but for line ends between its members. */
export function resultLine(customId: string, outcome: HttpAnswer | NoAnswer): Buffer {
  const head = `{"id":"batch_req_${randomBytes(12).toString('hex')}","custom_id":${JSON.stringify(customId)}`;
  if ('code' in outcome) {
    const { code, message } = outcome;
    return Buffer.from(`${head},"response":null,"error":${JSON.stringify({ code, message })}}\n`);
  }
  const { status, requestId, body } = outcome;
  // Within a JSON text a line end stands between its tokens alone.
  const line = body.replace(/[\r\n]+/g, ' ').trim();
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${line}}`;
  return Buffer.from(`${head},"response":${response},"error":null}\n`);
}
