// The names of a table, in the type that the table gives them.

/** The table's own keys in its order: the choices of an option whose variants stand in one table. */
export function keysOf<Table extends object>(table: Table): (keyof Table & string)[] {
  // A value of a wider type could hold further keys. Tables are constants that hold what their type says.
  return Object.keys(table) as (keyof Table & string)[];
}
