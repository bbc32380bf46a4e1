/** The Matrix channel in front of a fake homeserver, and a gateway that only records: shared by the channel's tests. */
import type { MatrixTiming } from '../../../channels/matrix/client.ts';
import { create } from '../../../channels/matrix/index.ts';
import { manifest } from '../../../channels/matrix/manifest.ts';
import { accessRules, type ChannelAccess } from '../../../src/protocol/access.ts';
import type { Channel } from '../../../src/protocol/channel.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { ChatMigration } from '../../../src/protocol/message.ts';
import { MemoryKeys } from '../stores/keys.ts';
import { MemoryChatSettings } from '../stores/channel-stores.ts';
import { ChannelSetup } from '../gateway/channel-setup.ts';
import { FakeHomeserver, MATRIX_TOKEN } from './homeserver.ts';

/** Some commands of the gateway. */
const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'End the running answer' },
  { name: 'new', description: 'Begin a fresh conversation' },
  { name: 'queue', description: 'How to handle messages that arrive meanwhile' },
  { name: 'help', description: 'This list' },
];

interface SetupOptions {
  limits?: boolean;
  token?: string;
  timing?: Partial<MatrixTiming>;
}

export class MatrixSetup extends ChannelSetup {
  readonly server: FakeHomeserver;
  channel: Channel;
  readonly chatSettings = new MemoryChatSettings();
  readonly keys = new MemoryKeys();
  readonly moves: ChatMigration[] = [];
  /** For the next channel. */
  recoveryKey: string | undefined;
  /** The outcomes of the next moves. */
  moved: () => Promise<void> = () => Promise.resolve();
  /** People who may write to the bot. */
  paired: string[] = [];
  access: ChannelAccess = { ...accessRules({ ...(manifest.ids ?? never()) }).parse({}), owners: [] };
  readonly #options: SetupOptions;

  private constructor(server: FakeHomeserver, options: SetupOptions) {
    super();
    this.server = server;
    this.#options = options;
    this.channel = this.create();
  }

  static async open(options: SetupOptions = {}): Promise<MatrixSetup> {
    return new MatrixSetup(await FakeHomeserver.open(options), options);
  }

  protected override async closePlatform(): Promise<void> {
    await this.server.close();
    if (this.server.unexpected.length > 0) throw this.server.unexpected[0];
  }

  protected override create(): Channel {
    const { token = MATRIX_TOKEN, timing } = this.#options;
    return create(
      { url: this.server.root, token, recoveryKey: this.recoveryKey, ...manifest.settings.parse({}) },
      this.depsWith(
        {
          mayWrite: ({ senderId }) => Promise.resolve(this.paired.includes(senderId)),
          commands: COMMANDS,
          chatMoved: async (move) => {
            await this.moved();
            this.moves.push(move);
          },
        },
        { chatSettings: this.chatSettings, keys: this.keys, access: () => this.access },
      ),
      { longPollMs: 2_000, retryBaseMs: 10, keyGraceMs: 20, ...timing },
    );
  }
}

function never(): never {
  throw new Error('the manifest has ids');
}
