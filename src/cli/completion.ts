// awb completion: a shell script that completes commands and flags, generated from the table of commands.

import { EXIT, UserError } from '../core/errors.js';
import { type CommandEntry, defineCommand, option } from '../settings/command.js';
import { flagOf } from '../settings/command-line.js';

export const completionOf = (commands: readonly CommandEntry[]) =>
  defineCommand({
    description: 'Prints a script that completes commands and flags of awb.',
    examples: {
      'source <(awb completion bash)': 'this shell; for all, in ~/.bashrc',
      'source <(awb completion zsh)': 'the same in ~/.zshrc, after compinit',
      'awb completion fish > ~/.config/fish/completions/awb.fish': 'fish',
    },
    options: { shell: option.choice(['bash', 'zsh', 'fish'], 'shell to write for', { required: true }) },
    operands: ['shell'],
    async run({ shell, json }, io) {
      if (json) throw new UserError('awb completion writes a script; omit --json');
      const firsts = new Set(commands.map(({ name }) => name.replace(/ .*/, '')));
      const words = new Map([['', [...firsts, '--help', '--version']]]);
      for (const { name, load } of commands) {
        const flags = Object.entries((await load()).command.options).map(([flag, spec]) => flagOf(flag, spec));
        words.set(name, [...flags.map((flag) => flag.replace(/ .*/, '')), '--help']);
        const [group = '', verb] = name.split(' ');
        if (verb !== undefined) words.set(group, [...(words.get(group) ?? []), verb]);
      }
      const script = shell === 'fish' ? fishScript(words) : bashScript(words);
      io.stdout.write(shell === 'zsh' ? `${ZSH}${script}` : script);
      return EXIT.done;
    },
  });

const ZSH = 'autoload -Uz bashcompinit && bashcompinit\n';

/** @param words by command, the words that may follow it */
function bashScript(words: ReadonlyMap<string, readonly string[]>): string {
  const cases = Array.from(words, ([name, next]) => {
    const place = isGroup(next) ? `'2 ${name} '*` : `*' ${name}${name.includes(' ') ? "'" : " '*"}`;
    return `    ${name === '' ? "'1 '*" : place}) words='${next.join(' ')}' ;;\n`;
  });
  return `_awb() {
  local words=
  case "$COMP_CWORD \${COMP_WORDS[*]:1:2}" in
${cases.join('')}  esac
  [[ $words == --* && \${COMP_WORDS[COMP_CWORD]} != -* ]] && words=
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _awb awb agentworldbench
`;
}

function fishScript(words: ReadonlyMap<string, readonly string[]>): string {
  const lines = Array.from(words, ([name, next]) => {
    const seen = name.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
    if (isGroup(next)) seen.push(`not __fish_seen_subcommand_from ${next.join(' ')}`);
    const place = name === '' ? '__fish_use_subcommand' : seen.join('; and ');
    return `complete -c awb -n '${place}' -a '${next.join(' ')}'\n`;
  });
  return `${lines.join('')}complete -c agentworldbench -w awb\n`;
}

/** Whether these are the second words of commands, not flags. */
const isGroup = (next: readonly string[]) => next.every((word) => !word.startsWith('-'));
