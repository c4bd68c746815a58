// The steps by which two texts differ, as the report's page holds them.

/** Changed parts of a line as offsets (UTF-16 units): start, end, start, end ... */
export type Ranges = readonly number[];

/**
 * A step through both texts, in order: `n` lines that are equal; `-` n lines of the truth alone; `+` n lines of the prediction
 * alone; `~` one line of each, with what changed in either.
 */
export type Step = number | readonly ['-' | '+', number] | readonly ['~', Ranges, Ranges];
