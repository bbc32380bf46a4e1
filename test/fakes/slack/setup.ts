/** The Slack channel in front of a fake Slack, and a gateway that only records: shared by the channel's tests. */
import { create } from '../../../channels/slack/index.ts';
import { manifest } from '../../../channels/slack/manifest.ts';
import type { SlackTiming } from '../../../channels/slack/web-api.ts';
import type { Channel } from '../../../src/protocol/channel.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import { ChannelSetup } from '../gateway/channel-setup.ts';
import { FakeSlack, type FakeSlackOptions, SLACK_APP_TOKEN, SLACK_TOKEN } from './slack.ts';

/** The commands of the gateway. */
const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'End the running answer' },
  { name: 'new', description: 'Begin a fresh conversation' },
  {
    name: 'queue',
    description: 'How to handle messages that arrive meanwhile',
    argument: { name: 'mode', description: 'One of the modes', required: false },
  },
  { name: 'help', description: 'This list' },
];

interface SetupOptions extends FakeSlackOptions {
  token?: string;
  appToken?: string;
  timing?: Partial<SlackTiming>;
}

export class SlackSetup extends ChannelSetup {
  readonly slack: FakeSlack;
  channel: Channel;
  readonly #options: SetupOptions;

  private constructor(slack: FakeSlack, options: SetupOptions) {
    super();
    this.slack = slack;
    this.#options = options;
    this.channel = this.create();
  }

  static async open(options: SetupOptions = {}): Promise<SlackSetup> {
    return new SlackSetup(await FakeSlack.open(options), options);
  }

  protected override async closePlatform(): Promise<void> {
    await this.slack.close();
    if (this.slack.unexpected.length > 0) throw this.slack.unexpected[0];
  }

  protected override create(): Channel {
    const { token = SLACK_TOKEN, appToken = SLACK_APP_TOKEN, timing } = this.#options;
    return create(
      { token, appToken, apiRoot: this.slack.apiRoot, ...manifest.settings.parse({}) },
      this.depsWith({ commands: COMMANDS }),
      { retryBaseMs: 10, saveEveryMs: 5, historySpacingMs: 0, closeMs: 200, deferAfterMs: 200, ...timing },
    );
  }
}
