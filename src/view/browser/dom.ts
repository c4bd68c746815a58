// The page's elements: found by their id, and made without markup, so that no text of a model becomes an element.

type Child = Node | string | undefined;
type Attributes = Readonly<Record<string, string | undefined>>;

export function byId(id: string): HTMLElement | null {
  return document.getElementById(id);
}

/** An element that the page must hold. */
export function part(id: string): HTMLElement {
  const element = byId(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/** A new element; attributes and children that are undefined are left out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** An element that opens on a click, and is filled when it is opened first. */
export function fold(title: string, size: string, fill: () => readonly Child[]): HTMLElement {
  const details = make('details', {}, make('summary', {}, title, make('span', { class: 'soft' }, size)));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) {
      details.append(...fill().filter((child) => child !== undefined));
    }
  });
  return details;
}

export function button(text: string, attributes: Attributes, click: () => void): HTMLButtonElement {
  const element = make('button', { type: 'button', ...attributes }, text);
  element.addEventListener('click', click);
  return element;
}
