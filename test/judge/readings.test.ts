// What each reading of verdicts makes of replies that are cut off.

import { expect, it } from 'vitest';
import type { ModelReply } from '../../src/core/types.js';
import { READINGS } from '../../src/judge/verdicts.js';
import { block, five, MARK, marked, scores } from '../support/verdicts.js';

const log = { attempts: 1, usage: {}, ms: 1, host: 'h' };
const reply: ModelReply = { status: 'ok', content: marked(block(scores(five))), finishReason: 'length', log };
const asked = { mark: MARK, isHeld: false, countsUnmarked: () => false };

it('a reply that was cut off is unreadable strictly, whatever it holds', () => {
  expect(READINGS.strict.read(reply, asked)).toMatchObject({ status: 'unreadable' });
  expect(READINGS.strict.read({ ...reply, finishReason: 'stop' }, asked)).toMatchObject({ status: 'ok' });
  expect(READINGS.official.read(reply, asked)).toMatchObject({ status: 'ok' });
});
