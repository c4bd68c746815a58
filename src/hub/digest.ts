// What a file's content is known by on a hub: SHA-256 of large files, the name in git of small ones.

import { createHash, type Hash } from 'node:crypto';

/** What is stated of a content. Where it has a SHA-256, its name in git says nothing more. */
export interface Stated {
  readonly bytes: number;
  readonly sha256?: string;
  /** SHA-1 of `blob`, the length and the content, as git names it. */
  readonly gitOid?: string;
}

/** What a content was found to be. */
interface Found {
  readonly bytes: number;
  readonly sha256: string;
  readonly gitOid: string | undefined;
}

/** The hashes of a content as it comes; git's needs the length beforehand. */
export class Digest {
  readonly #sha256 = createHash('sha256');
  readonly #gitOid: Hash | undefined;
  #bytes = 0;

  /** @param wholeBytes length of the content, where its name in git is to be found too */
  constructor(wholeBytes: number | undefined) {
    this.#gitOid = wholeBytes === undefined ? undefined : createHash('sha1').update(`blob ${wholeBytes}\0`);
  }

  /** For a content of which this is stated. */
  static of({ bytes, sha256, gitOid }: Stated): Digest {
    return new Digest(sha256 === undefined && gitOid !== undefined ? bytes : undefined);
  }

  /** That have come so far. */
  get bytes(): number {
    return this.#bytes;
  }

  update(chunk: Uint8Array): void {
    this.#sha256.update(chunk);
    this.#gitOid?.update(chunk);
    this.#bytes += chunk.length;
  }

  /** What came; the last call. */
  finish(): Found {
    return { bytes: this.#bytes, sha256: this.#sha256.digest('hex'), gitOid: this.#gitOid?.digest('hex') };
  }
}

/** Whether a content is what is stated; undefined where only a length is stated, and that is right. */
export function isSame(found: Found, { bytes, sha256, gitOid }: Stated): boolean | undefined {
  if (found.bytes !== bytes) return false;
  if (sha256 !== undefined) return found.sha256 === sha256;
  return gitOid === undefined ? undefined : found.gitOid === gitOid;
}
