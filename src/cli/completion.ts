// `awb completion SHELL` prints the script that teaches a shell the commands, flags and values; the script asks back for them.

import tabtab from '@pnpm/tabtab';
import { EXIT, type ExitCode, present } from '../core/errors.js';
import { DOMAINS, type Io } from '../core/types.js';
import { type CommandEntry, defineCommand, type OptionSpec, type OptionTable, option } from '../settings/command.js';
import { flagOf, takesSeveral } from '../settings/command-line.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const PROGRAMS = ['awb', 'agentworldbench'];
/** What tabtab's scripts for zsh and fish take as "complete a file name"; bash does so where nothing is answered. */
const FILES = '__tabtab_complete_files__';

export const command = defineCommand({
  description: 'Prints a script that completes commands, flags and their values. awb has to be on the path.',
  examples: {
    'source <(awb completion bash)': 'this shell; for all, in ~/.bashrc',
    'source <(awb completion zsh)': 'the same in ~/.zshrc, after compinit',
    'awb completion fish > ~/.config/fish/completions/awb.fish': 'fish, for good',
  },
  options: { shell: option.choice(SHELLS, 'the shell to write for', { required: true }) },
  operands: ['shell'],
  async run({ shell }, io) {
    for (const name of PROGRAMS) {
      io.stdout.write(`${await tabtab.getCompletionScript({ name, completer: name, shell })}\n`);
    }
    return EXIT.done;
  },
});

/** Answers a shell's question, which the script hands over in the environment: what may stand at the cursor. */
export async function answerCompletion(io: Io, entries: readonly CommandEntry[]): Promise<ExitCode> {
  const shell = SHELLS.find((name) => name === io.env.SHELL);
  if (shell === undefined) return EXIT.usage;
  const words = tabtab.parseEnv(io.env).partial.trimStart().split(/\s+/).slice(1);
  const found = await candidates(words, entries);
  const write = (line: string) => io.stdout.write(`${line}\n`);
  if (found !== 'files') tabtab.log([...found], shell, write);
  else if (shell !== 'bash') write(FILES);
  return EXIT.done;
}

interface Candidate {
  readonly name: string;
  readonly description?: string;
}

async function candidates(words: readonly string[], entries: readonly CommandEntry[]) {
  const current = words.at(-1) ?? '';
  const starting = (all: readonly Candidate[]) => all.filter(({ name }) => name.startsWith(current));
  const named = (names: readonly string[]) => starting(names.map((name) => ({ name })));
  const group = entries.filter(({ name }) => name.startsWith(`${words[0]} `));
  if (words.length < 2) return starting(firstWords(entries));
  if (words.length === 2 && group.length > 0) {
    return starting(group.map(({ name, summary }) => ({ name: present(name.split(' ')[1]), description: summary })));
  }

  const length = group.length > 0 ? 2 : 1;
  const called = words.slice(0, length).join(' ');
  const spec = (await entries.find(({ name }) => name === called)?.load())?.command;
  if (spec === undefined) return [];
  const table: OptionTable = spec.options;
  const before = words.slice(length, -1);
  const values = (name: string) => {
    const option = present(table[name]);
    if (option.kind === 'choice') return named(option.choices);
    if (name === 'domains') return named(DOMAINS);
    if ('words' in option && option.words !== undefined) return named(option.words);
    return option.kind === 'text' || option.kind === 'list' ? 'files' : [];
  };
  const takesValue = (word = '') => word.startsWith('--') && (table[word.slice(2)]?.kind ?? 'boolean') !== 'boolean';
  const last = before.at(-1) ?? '';
  if (takesValue(last)) return values(last.slice(2));
  if (current.startsWith('-')) {
    const isGiven = (name: string, option: OptionSpec) => before.includes(`--${name}`) && !takesSeveral(option);
    const left = Object.entries(table).filter(([name, option]) => !isGiven(name, option));
    return starting(
      left.map(([name, option]) => ({ name: flagOf(name, option).replace(/ .*/, ''), description: option.help })),
    );
  }
  // The option that a word fills which stands without a flag: the last one takes all further words where it is a list.
  const { operands = [] } = spec;
  const given = before.filter((word, index) => !word.startsWith('-') && !takesValue(before[index - 1])).length;
  const final = operands.at(-1);
  const operand = operands[given] ?? (final !== undefined && table[final]?.kind === 'list' ? final : undefined);
  return operand === undefined ? [] : values(operand);
}

/** What a line may begin with: a command, or the first word of several. */
function firstWords(entries: readonly CommandEntry[]): Candidate[] {
  const described = entries.map(({ name, summary }) => {
    const [first = name, second] = name.split(' ');
    return [first, { name: first, description: second === undefined ? summary : `${second} ...` }] as const;
  });
  return [...new Map(described).values()];
}
