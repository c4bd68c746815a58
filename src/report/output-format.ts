// What a format is: an entry of a list of formats.

/** A form in which something is shown. */
export interface OutputFormat<Shown, Look> {
  /** What the names of such files end in, in small letters with the dot. A file of any other ending gets the form for a terminal. */
  readonly endings: readonly string[];
  /** The text, ending in a line feed. */
  print(shown: Shown, look: Look): string;
}
