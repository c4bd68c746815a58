// A model's own tokenizer, from the tokenizer.json that lies beside its weights: how many tokens a text has.

import { access, constants, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EXIT, messageOf, UserError } from '../../core/errors.js';
import { isObject, type JsonObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import { piecesOf } from './pieces.js';

interface Tokenizer {
  /**
   * Tokens of a text as Hugging Face's `encode(text, add_special_tokens=False)` counts them: an added token that stands in the text is
   * one, and none is put around it. Where a long text is cut (pieces.ts), a token or two may be counted more.
   */
  count(text: string): number;
}

const FILE = 'tokenizer.json';
/** Three times the largest in use. What is larger are weights. */
const MOST_BYTES = 100e6;

/**
 * Opens a Hugging Face tokenizer.json, or the one in a folder. The library is loaded here.
 * @param path absolute; `shown` is how the user gave it
 * @throws UserError: 66 for a file that cannot be read, 65 for one that is no tokenizer or of a kind that is not known
 */
export async function openTokenizer(path: string, shown: string = path): Promise<Tokenizer> {
  const file = await readTokenizer(path, shown);
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    const complete = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [] };
    const tokenizer = new Tokenizer({ ...complete, ...file }, {});
    const countPiece = (piece: string): number => tokenizer.encode(piece, { add_special_tokens: false }).ids.length;
    // Some of what a file may lack is missed only by counting.
    countPiece('It counts.\n');
    return { count: (text) => piecesOf(text).reduce((sum, piece) => sum + countPiece(piece), 0) };
  } catch (error) {
    const reason = oneLine(messageOf(error), 200);
    throw new UserError(`${shown}: this tokenizer cannot be used: ${reason}; ${WITHOUT}`, EXIT.badData);
  }
}

const KINDS = ['BPE', 'Unigram', 'WordPiece'] as const;
const WITHOUT = 'without --tokenizer, tokens are estimated from characters';

/**
 * Refuses a file that is not there, as `openTokenizer` does, without reading it.
 * @param path absolute; `shown` is how the user gave it
 * @throws UserError: 66 for a file that cannot be read, 65 for one that is too large for a tokenizer
 */
export async function requireTokenizer(path: string, shown: string): Promise<void> {
  await fileOf(path, shown, (file) => access(file, constants.R_OK));
}

/** What `use` does with the file of that name, or with the one in the folder. */
async function fileOf<T>(path: string, shown: string, use: (file: string) => Promise<T>): Promise<T> {
  try {
    const isFolder = (await stat(path)).isDirectory();
    const file = isFolder ? join(path, FILE) : path;
    const found = await stat(file);
    // A device or a pipe may never end.
    if (!found.isFile()) throw noTokenizer(shown, 'it is no regular file');
    const { size } = found;
    if (size > MOST_BYTES) throw noTokenizer(shown, `it has ${Math.round(size / 1e6)} MB`);
    return await use(file);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `cannot read the tokenizer ${shown} (--tokenizer): ${codeOf(error)}; it is the ${FILE} of the model's repository, or its folder`,
      EXIT.inputMissing,
    );
  }
}

async function readTokenizer(path: string, shown: string): Promise<JsonObject> {
  const text = await fileOf(path, shown, (file) => readFile(file, 'utf8'));
  const value = parsed(text, shown);
  const model = isObject(value) ? value.model : undefined;
  if (!isObject(value) || !isObject(model) || !(isObject(model.vocab) || Array.isArray(model.vocab))) {
    throw noTokenizer(shown, 'it has no model with a vocabulary');
  }
  // Files of the first years do not name the kind; the library takes what it does not know for words between spaces.
  const { type = Array.isArray(model.merges) ? 'BPE' : undefined } = model;
  if (!KINDS.some((kind) => kind === type)) {
    throw noTokenizer(
      shown,
      `its model is ${oneLine(JSON.stringify(type ?? 'nameless'), 40)}, and ${KINDS.join(', ')} are known`,
    );
  }
  return { ...value, model: { ...model, type } };
}

function parsed(text: string, shown: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw noTokenizer(shown, 'it is no JSON');
  }
}

function noTokenizer(shown: string, reason: string): UserError {
  return new UserError(
    `${shown} is no ${FILE} of Hugging Face: ${reason}; take the ${FILE} of the model's repository, or leave --tokenizer out`,
    EXIT.badData,
  );
}
