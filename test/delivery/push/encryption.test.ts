/** The body and the token of a push, by the examples of their standards. */
import { createECDH } from 'node:crypto';
import { expect, it } from 'vitest';
import { encryptPush, newPushKey, publicPart, readKeys } from '../../../src/delivery/push/encryption.ts';

/** RFC 8291, appendix A. */
const TEXT = 'When I grow up, I want to be a watermelon';
const SENDER = 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw';
const KEYS = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};
const SALT = 'DGv6ra1nlYgDCS1FRnbzlw';
const BODY =
  'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_' +
  'yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN';

it('encrypts the example of RFC 8291 to its bytes', () => {
  const sender = createECDH('prime256v1');
  sender.setPrivateKey(Buffer.from(SENDER, 'base64url'));
  const salt = Buffer.from(SALT, 'base64url');
  const body = encryptPush(TEXT, KEYS, { sender, salt, filled: TEXT.length + 1 });
  expect(body.toString('base64url')).toBe(BODY);
});

it('gives every text the same length, refuses one that does not fit, and never repeats a body', () => {
  const bodies = ['a', 'a', 'x'.repeat(1_023)].map((text) => encryptPush(text, KEYS));
  expect(new Set(bodies.map(({ length }) => length)).size).toBe(1);
  expect(new Set(bodies.map((body) => body.toString('hex'))).size).toBe(3);
  expect(() => encryptPush('x'.repeat(1_024), KEYS)).toThrow(RangeError);
});

it.each([
  { ...KEYS, auth: 'short' },
  { ...KEYS, p256dh: KEYS.p256dh.slice(0, 40) },
  // A point that is not on the curve would give away the key of the sender.
  { ...KEYS, p256dh: Buffer.concat([Buffer.of(4), Buffer.alloc(64, 7)]).toString('base64url') },
])('refuses keys that are not those of a browser: %j', (keys) => {
  expect(() => readKeys(keys)).toThrow(expect.objectContaining({ code: 'bad_subscription' }));
});

it('makes keys whose public part is an uncompressed point', () => {
  const key = JSON.parse(newPushKey());
  const point = Buffer.from(publicPart(key), 'base64url');
  expect([point.length, point[0]]).toEqual([65, 4]);
});
