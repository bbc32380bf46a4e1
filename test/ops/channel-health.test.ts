/** What is wrong with a channel, in the language of its reader: the sentence is theirs, a platform's own words stay as they are. */
import { expect, it } from 'vitest';
import { WebAPIPlatformError } from '@slack/web-api';
import { toChannelError as fromSlack } from '../../channels/slack/errors.ts';
import { refusalOf } from '../../channels/matrix/client.ts';
import type { Channel } from '../../src/protocol/channel.ts';
import { type GatewayError, messageOf } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import GERMAN from '../../src/settings/languages/de.json' with { type: 'json' };
import { inEnglish, sayFrom } from '../../src/protocol/texts/say.ts';
import { channelHealth } from '../../src/ops/health.ts';

const OFFICE = { name: 'office', label: 'Office', needs: 'OFFICE_TOKEN' };

/** What a reader of each language sees about a channel whose health says `detail`. */
function readersOf(detail: ChannelHealth['detail']): { english: string; german: string } {
  // A stand-in: only its health is asked for.
  const running = new Map([['office', {} as Channel]]);
  const worded = (say = inEnglish): string =>
    channelHealth([OFFICE], running, () => ({ state: 'degraded', ...(detail && { detail }) }), say)['office']
      ?.detail ?? '';
  return { english: worded(), german: worded(sayFrom('de', GERMAN)) };
}

const slackRefuses = (error: string, more: object = {}): GatewayError =>
  fromSlack(new WebAPIPlatformError({ ok: false, error, ...more }));

it('quotes what a library says in a sentence of the reader', () => {
  expect(readersOf('connect ETIMEDOUT 10.0.0.7:443')).toEqual({
    english: 'Office reports: connect ETIMEDOUT 10.0.0.7:443',
    german: 'Office meldet: connect ETIMEDOUT 10.0.0.7:443',
  });
});

it('names a scope that the bot lacks on Slack', () => {
  const { english, german } = readersOf(
    messageOf(slackRefuses('missing_scope', { needed: 'channels:read' })),
  );
  expect(english).toMatch(/^The bot lacks the scope channels:read on Slack: add it \(your app at api\.slack/);
  expect(german).toMatch(/^Dem Bot fehlt bei Slack das Recht channels:read: füge es hinzu \(deine App unter/);
});

it('says that a scope is missing even if Slack does not name it', () => {
  const { english, german } = readersOf(messageOf(slackRefuses('missing_scope')));
  expect(english).toMatch(/^The bot lacks a scope on Slack: /);
  expect(german).toMatch(/^Dem Bot fehlt bei Slack ein Recht: /);
});

it('keeps the code of a refusal that no text is for', () => {
  expect(readersOf(messageOf(slackRefuses('cosmic_rays')))).toEqual({
    english: 'Slack refused the call: cosmic_rays',
    german: 'Slack hat den Aufruf abgelehnt: cosmic_rays',
  });
  expect(readersOf(messageOf(refusalOf(400, { errcode: 'M_ODD' }, undefined, 0))).german).toBe(
    'Matrix hat den Aufruf abgelehnt: M_ODD',
  );
});
