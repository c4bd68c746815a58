// What is open, and closed behind its use.

/** What `use` makes of something that is open; it is closed then, whatever has come of it. */
export async function closing<Open extends { close(): unknown }, T>(
  opened: Open,
  use: (opened: Open) => Promise<T>,
): Promise<T> {
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}
