// Elements of phones and desktops: the notations that the benchmark has and recorded rows do not, and elements that cannot be placed.

import { expect, test } from 'vitest';
import { elementScreen } from '../../../src/benchmark/screens/elements.js';

function shown(observation: string) {
  return elementScreen(observation)?.elements.map(({ bounds, id, role, text, states }) =>
    bounds ? [id, role, text, states.join(' '), bounds.left, bounds.top, bounds.right, bounds.bottom] : text,
  );
}

test("AndroidWorld's lines with bars", () => {
  const observation = [
    '[ 0] | android.widget.ImageView | res="com.calendar.pro:id/search_icon" | bounds=[42,149][147,275] | clickable',
    '[ 1] | android.widget.EditText | text="Search" hint="Find" res="com.calendar.pro:id/search" | bounds=[147,149][626,275] | clickable, focused',
    '[12] | android.widget.ImageButton | desc="Go | back" | bounds=[-5,0][20,40]',
  ];
  expect(shown(observation.join('\n'))).toEqual([
    ['0', 'ImageView', '', 'clickable', 42, 149, 147, 275],
    ['1', 'EditText', 'Search', 'clickable focused', 147, 149, 626, 275],
    ['12', 'ImageButton', 'Go | back', '', -5, 0, 20, 40],
  ]);
});

test("the phone tool's numbered list", () => {
  const observation = [
    '**Current Phone State:**',
    '• **App:** Files (com.google.android.documentsui)',
    '',
    "Current Clickable UI elements from the device in the schema 'index. className: resourceId, text - bounds(x1,y1,x2,y2)':",
    '1. LinearLayout: "LinearLayout" - (0,128,1080,275)',
    '  8. TextView: "com.google.android.documentsui:id/breadcrumb_text", "Down-loads (2)" - (0,258,267,384)',
  ];
  expect(shown(observation.join('\r\n'))).toEqual([
    observation[0],
    observation[1],
    observation[3],
    ['1', 'LinearLayout', '', '', 0, 128, 1080, 275],
    ['8', 'TextView', 'Down-loads (2)', '', 0, 258, 267, 384],
  ]);
});

test("DroidBot's indented list, with and without brackets", () => {
  const observation = [
    '- FrameLayout bounds=0,0,1080,2340',
    '  - Button id="com.x:id/ok" text="OK" flags=clickable,focusable bounds=10,20,300,90',
    '  - Button [id="com.x:id/no"] [text="No"] [flags=clickable] bounds=10,120,300,190',
  ];
  expect(shown(observation.join('\n'))).toEqual([
    ['', 'FrameLayout', '', '', 0, 0, 1080, 2340],
    ['', 'Button', 'OK', 'clickable focusable', 10, 20, 300, 90],
    ['', 'Button', 'No', 'clickable', 10, 120, 300, 190],
  ]);
});

test("OSWorld's table with classes, quoted cells and a text of several lines", () => {
  const header = 'tag\tname\ttext\tstates\tclass\tposition (top-left x&y)\tsize (w&h)';
  const rows = [
    'push-button\tClose\tClose\t\t\t(1, 2)\t(30, 40)',
    'entry\tDoc\t"say ""hi""\nagain"\tfocused\t\t(5, 2)\t(30, 40)',
    'label\tLast\t\t\t\t(0, 0)\t(9, 9)',
  ];
  expect(shown([header, ...rows].join('\n'))).toEqual([
    ['', 'push-button', 'Close', '', 1, 2, 31, 42],
    ['', 'entry', 'Doc say "hi"\nagain', 'focused', 5, 2, 35, 42],
    ['', 'label', 'Last', '', 0, 0, 9, 9],
  ]);
});

test.each([
  ['beyond any screen', '[1] A "" bounds=[0,0][1000000000,5]'],
  ['far beyond this one', '[1] A "" bounds=[0,0][99999,5]'],
  ['of negative size', '[1] A "" bounds=[50,50][10,10]'],
  ['without an area', '[1] A "" bounds=[0,0][0,0]'],
  ['left of the screen', '[1] A "" bounds=[-90,0][-10,10]'],
  ['that is not a number', '[1] A "" bounds=[0,0][NaN,5]'],
])('an element %s is a line of text', (_, line) => {
  expect(elementScreen(line)).toBeUndefined();
  const screen = elementScreen(`${line}\n[2] B "" bounds=[0,0][30,50]`);
  expect(screen).toMatchObject({ width: 30, height: 50, elements: [{ bounds: undefined, text: line }, { role: 'B' }] });
});

test('elements after the two thousandth are cut off', () => {
  const screen = elementScreen('[1] A "" bounds=[0,0][9,9]\n'.repeat(3000));
  expect([screen?.elements.length, screen?.cut]).toEqual([2000, true]);
});
