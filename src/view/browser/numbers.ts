// Numbers as the pages show them.

export function count(number: number): string {
  return number.toLocaleString('en');
}

export function sizeOf(...texts: readonly string[]): string {
  return `${count(texts.reduce((sum, text) => sum + text.length, 0))} characters`;
}
