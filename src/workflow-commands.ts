// Text in which the runner of GitHub Actions finds no command, whoever wrote it: a model, a server, a label.

/**
 * Makes commands harmless over writes that may end anywhere. The runner takes one where a line starts with `::`, white space aside,
 * and in its older form wherever `##[` stands (actions/runner, ActionCommand.cs). A JSON document stays the same document.
 */
export function openCommandFilter(): (text: string) => string {
  // Stands for the line under way: empty, a colon, or something else and the number signs at its end.
  let line = '';
  return (text) => {
    // In JSON number signs stand in texts, where what follows them may be escaped.
    const isJson = line === '' && /^\{.*\}\s*$/s.test(text);
    const escaped = isJson ? text.replace(/##\[/g, '##\\u005b') : text;
    const safe = withoutCommands(line + escaped).slice(line.length);
    line = remainder(line + safe);
    return safe;
  };
}

/** What is inserted stands behind the part that makes no command alone, which may be written already. */
function withoutCommands(text: string): string {
  return text.replace(/^([\s\x85]*:)(?=:)/gm, '$1 ').replace(/##(?=\[)/g, '## ');
}

function remainder(text: string): string {
  const line = text.slice(1 + Math.max(...['\n', '\r', '\u2028', '\u2029'].map((end) => text.lastIndexOf(end))));
  const start = line.trim();
  if (start === '' || start === ':') return start;
  return `x${/#{0,2}$/.exec(line)?.[0] ?? ''}`;
}
