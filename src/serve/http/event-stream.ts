// A reply as server-sent events.

import type { ServerResponse } from 'node:http';
import type { ApiError } from './api-error.js';

interface EventStream {
  /** JSON on one line. */
  send(data: string): void;
  /** After the last event. */
  end(): void;
  /** In the middle: an error event, and nothing that would look like an end. */
  fail(error: ApiError): void;
  /** A comment, which clients pass over. */
  ping(): void;
}

/** Unread text above which the client is taken for gone. Waiting for it would hold up the whole batch. */
const MOST_UNREAD_BYTES = 16 * 2 ** 20;

/** The head of the response is written with the first event or ping. */
export function openEventStream(response: ServerResponse): EventStream {
  function write(text: string): void {
    if (response.destroyed) return;
    if (!response.headersSent) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
    }
    response.write(text);
    if (response.writableLength > MOST_UNREAD_BYTES) response.destroy();
  }
  const send = (data: string) => write(`data: ${data}\n\n`);
  return {
    send,
    end() {
      write('data: [DONE]\n\n');
      response.end();
    },
    fail(error) {
      send(JSON.stringify(error.body));
      response.end();
    },
    ping: () => write(': ping\n\n'),
  };
}
