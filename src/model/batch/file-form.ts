// A file as a form that is sent piece by piece: what browsers and the official clients send, with its length in advance.

import { randomBytes } from 'node:crypto';

/** A file to be sent. Its bytes are read when they are sent, each time anew. */
export interface FileToSend {
  readonly name: string;
  readonly bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

interface FileForm {
  readonly headers: Readonly<Record<string, string>>;
  /** `onSent` is told the bytes of the file that have been handed over. */
  body(onSent: (bytes: number) => void): AsyncIterable<Uint8Array>;
}

/**
 * The form (RFC 7578) with a purpose and a file. The client's own form has no length and goes out in chunks, which gateways in front of
 * some servers do not take.
 */
export function fileForm(purpose: string, file: FileToSend): FileForm {
  const boundary = `awb-${randomBytes(16).toString('hex')}`;
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n${purpose}\r\n` +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${file.name}"\r\n` +
      'Content-Type: application/jsonl\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + file.bytes + tail.length),
    },
    async *body(onSent) {
      yield head;
      let sent = 0;
      for await (const piece of file.read()) {
        yield piece;
        sent += piece.length;
        onSent(sent);
      }
      yield tail;
    },
  };
}
