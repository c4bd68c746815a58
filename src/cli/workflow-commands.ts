// Text in which the runner of GitHub Actions finds no command, even where a model, a server or a label wrote one.

/**
 * Makes commands harmless in writes that may end anywhere. The runner sees a command where a line starts with `::`, after white space
 * too, and in the older form wherever `##[` stands (actions/runner, ActionCommand.cs). A JSON document stays the same document.
 */
export function openCommandFilter(): (text: string) => string {
  // What matters of the line under way: nothing, a colon, or `x` for anything else with the number signs at its end.
  let line = '';
  return (text) => {
    // In JSON, number signs stand in strings, where the bracket behind them can be escaped.
    const isJson = line === '' && /^\{.*\}\s*$/s.test(text);
    const escaped = isJson ? text.replace(/##\[/g, '##\\u005b') : text;
    const safe = withoutCommands(line + escaped).slice(line.length);
    line = remainder(line + safe);
    return safe;
  };
}

/** Inserts a space inside each command, behind the part that may have been written already. */
function withoutCommands(text: string): string {
  return text.replace(/^([\s\x85]*:)(?=:)/gm, '$1 ').replace(/##(?=\[)/g, '## ');
}

function remainder(text: string): string {
  const line = text.slice(1 + Math.max(...['\n', '\r', '\u2028', '\u2029'].map((end) => text.lastIndexOf(end))));
  const start = line.trim();
  if (start === '' || start === ':') return start;
  return `x${/#{0,2}$/.exec(line)?.[0] ?? ''}`;
}
