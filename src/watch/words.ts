// Commands as a user writes them: words, filled in one pass, so that nothing in a name is ever read as part of a command.

import { UserError } from '../errors.js';

/** What may stand in braces. */
type Values = Readonly<Record<string, string>>;

const PART =
  /'(?<single>[^']*)'|"(?<double>(?:\\[\s\S]|[^"\\])*)"|\\(?<escaped>[\s\S])|(?<plain>[^\s'"\\]+)|(?<space>\s+)/gy;

/**
 * The words of a command: a list as it is, or one text that is split as a POSIX shell would, with quotes and backslashes and nothing
 * else: no variables, no pipes.
 * @throws UserError (2) for a quote that does not end
 */
export function wordsOf(given: readonly string[], flag: string): string[] {
  const [text = '', ...others] = given;
  if (others.length > 0) return [...given];
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const match of text.matchAll(PART)) {
    end = match.index + match[0].length;
    const { single, double, escaped, plain, space } = match.groups ?? {};
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    word = `${word ?? ''}${single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? ''}`;
  }
  if (end < text.length)
    throw new UserError(`${flag}: a quote or a backslash has no end, at "${text.slice(end, end + 20)}"`);
  return word === undefined ? words : [...words, word];
}

/** The words with what stands in braces filled in; what was filled in is not read again, and other braces stay. */
export function filled(words: readonly string[], values: Values): string[] {
  return words.map((word) => word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole));
}

/** The address of the server at a port. */
export function endpointAt(endpoint: string, port: number): string {
  return filled([endpoint.replace(/\/+$/, '')], { port: String(port) }).join('');
}
