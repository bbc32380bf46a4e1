/** What `parley doctor` reports about Slack: tokens and scopes. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { check } from '../../../channels/slack/check.ts';
import { create } from '../../../channels/slack/index.ts';
import { manifest } from '../../../channels/slack/manifest.ts';
import { ConfigError } from '../../../src/protocol/errors.ts';
import type { Finding } from '../../../src/protocol/channel.ts';
import { readText } from '../../docs/pages.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import { SLACK_APP_TOKEN, SLACK_TOKEN } from '../../fakes/slack/slack.ts';

let setup: SlackSetup;
beforeEach(async () => {
  setup = await SlackSetup.open();
});
afterEach(() => setup.close());

const findings = async (
  token = SLACK_TOKEN,
  appToken: string | undefined = SLACK_APP_TOKEN,
): Promise<Finding[]> => await check(token, appToken, setup.slack.apiRoot);

describe('the check of Slack', () => {
  it('finds nothing wrong with the app of the manifest in the documentation', async () => {
    const [, scopes = ''] = /bot:\n((?: +- \S+\n)+)/.exec(readText('docs/slack.md')) ?? [];
    setup.slack.scopes = scopes.split('\n').map((line) => line.replace(/^ +- /, ''));
    expect((await findings()).map(({ level }) => level)).toEqual(['ok', 'ok', 'ok']);
  });

  it('names the scopes that are missing, and what they are for', async () => {
    setup.slack.scopes = setup.slack.scopes.filter((scope) => scope !== 'files:write');
    const [, scopes] = await findings();
    expect(scopes).toMatchObject({ level: 'warning', text: 'The bot cannot send files (files:write).' });
  });

  it('reports which of the two tokens is refused', async () => {
    expect(await findings('xoxb-wrong')).toMatchObject([
      { level: 'error', text: 'The bot token is refused.' },
      {},
    ]);
    const [, , app] = await findings(SLACK_TOKEN, 'xapp-wrong');
    expect(app).toMatchObject({ level: 'error', text: 'The app token is refused, or Socket Mode is off.' });
  });

  it('distinguishes an unreachable Slack from a refused token', async () => {
    for (let n = 0; n < 2; n += 1) setup.slack.failures.push({ kind: 'status', status: 503, match: /./ });
    for (const { text } of await findings()) expect(text).toBe('Slack cannot be reached.');
  });

  it('is not needed to detect a missing app token', () => {
    const config = { token: SLACK_TOKEN, appToken: undefined, ...manifest.settings.parse({}) };
    const make = () => create(config, setup.depsWith({}));
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(/SLACK_APP_TOKEN/);
  });
});
