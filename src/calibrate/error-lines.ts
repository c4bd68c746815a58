// The output of commands and tests without its errors, as if all had gone well.

/** @param before lines that an earlier screen showed: they are no errors of this turn */
export function withoutErrorLines(text: string, before: ReadonlySet<string>): string {
  const kept: string[] = [];
  let block: Block | undefined;
  for (const line of text.split('\n')) {
    if (before.has(line) && line.trim() !== '') {
      block = undefined;
      kept.push(line);
      continue;
    }
    if (block?.holds(line)) {
      if (block.endsWith(line)) block = undefined;
      continue;
    }
    block = BLOCKS.find(({ begins }) => begins.test(line));
    if (block !== undefined || ERRORS.some((error) => error.test(line))) continue;
    kept.push(TURNS.reduce((turned, [error, success]) => turned.replace(error, success), line));
  }
  return kept.join('\n');
}

/** Lines that belong together. */
interface Block {
  readonly begins: RegExp;
  holds(line: string): boolean;
  endsWith(line: string): boolean;
}

const isPrompt = (line: string) => /^[\w.-]+@[\w.-]+:/.test(line);

const BLOCKS: readonly Block[] = [
  {
    begins: /^Traceback \(most recent call last\):/,
    holds: (line) => !isPrompt(line),
    endsWith: (line) => /^\S/.test(line),
  },
  {
    // A failure in the report of Python's unittest, up to the summary.
    begins: /^(?:FAIL|ERROR): \w+ \(/,
    holds: (line) => !isPrompt(line) && !/^Ran \d+ test|^={20,}$/.test(line),
    endsWith: () => false,
  },
];

const REASONS =
  "no such file|not found|cannot |can't |could not |permission denied|not specified|unbound variable|syntax error|failed|failure|refused|invalid|unknown|unrecognized|is a directory|not a directory|already exists|timed out|No module named";

const ERRORS: readonly RegExp[] = [
  new RegExp(`^(?:[\\w./+-]+: )+.*(?:${REASONS})`, 'i'),
  /^(?:fatal|error|hint|npm error|npm ERR!|E|ERROR)(?:: |:$| |$)/,
  /^(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)/,
  /^\S+:\d+(?::\d+)?: (?:fatal )?error: /,
  /^(?:CONFLICT \(|line \d+ failed)/,
  /^FAILED [\w/.-]+::/,
  // Borders around the reports that are left out.
  /^={20,}$/,
];

const TURNS: readonly (readonly [error: RegExp, success: string])[] = [
  [/^Automatic merge failed; .*$/, "Merge made by the 'ort' strategy."],
  [/\b((?:rc|exit(?: |_|-)?(?:code|status)|returncode|return code)\s*[:=]?\s*)[1-9]\d*\b/i, '$10'],
  [/( \.\.\. )(?:FAIL|ERROR)$/, '$1ok'],
  [/^not ok (?=\d)/, 'ok '],
  [/^FAILED \((?:failures|errors)=.*\)$/, 'OK'],
  [/^FAIL(?= +\S)/, 'PASS'],
  [/✕|✗|✘/, '✓'],
  [/(=+ )\d+ failed, (\d+ passed)/, '$1$2'],
  [/^(HTTP\/[\d.]+ )[45]\d\d .*$/, '$1200 OK'],
];
