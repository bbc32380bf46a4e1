/** The Matrix channel: receives room events by sync, and sends and edits events over the client-server API. */
import { z } from 'zod';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import type { Channel, ChannelDeps } from '../../src/protocol/channel.ts';
import type { Place } from '../../src/protocol/message.ts';
import { channelUnavailable, ConfigError } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import {
  CHANNEL_TIMING,
  type PaceSettings,
  type ShowingSettings,
  usualCapabilities,
} from '../../src/protocol/channel-settings.ts';
import { CLIENT, MatrixClient, type MatrixTiming, pathOf, WHOLE_MS } from './client.ts';
import { checkPlace, contentOf, MAX_LENGTH, relationOf } from './content.ts';
import { readEvents, USER_ID } from './events.ts';
import { MAX_UPLOAD_BYTES, openFile, sendFile } from './files.ts';
import { Encryption, MAX_ROOM_KEYS } from './encryption/encryption.ts';
import { MAX_STRANGER_ROOMS, STRANGER_ROOMS_MS } from './joining.ts';
import { questionReactions } from './question-reactions.ts';
import { Receiving } from './receiving.ts';
import { render } from './render.ts';
import { isAdministrator, Replacements } from './rooms.ts';
import { Sending } from './sending.ts';

/** Settings of the channel, checked by its manifest. */
export interface MatrixConfig extends ShowingSettings {
  url: string | undefined;
  /** Secret. */
  token: string;
  /** Secret: signs the bot's device. */
  recoveryKey?: string | undefined;
  /** Maximum burst of events of the account. */
  accountBurst: number;
  eventsPerSecond: PaceSettings;
}

const TIMING: MatrixTiming = {
  ...CHANNEL_TIMING,
  longPollMs: 30_000,
  wholeMs: WHOLE_MS,
  keyGraceMs: 10_000,
  maxRoomKeys: MAX_ROOM_KEYS,
};

/** How long others see that the bot is typing, and after how long this is renewed. */
const TYPING_SHOWN_MS = 12_000;
const TYPING_MS = 8_000;

const NO_URL =
  'MATRIX_TOKEN is set, but MATRIX_URL is not: set MATRIX_URL to the address of the homeserver, such as https://matrix.example.org.';

/** Creates the channel; connects nothing before `start`. Throws `ConfigError` without an address. */
export function create(config: MatrixConfig, deps: ChannelDeps, waits: Partial<MatrixTiming> = {}): Channel {
  if (config.url === undefined) throw new ConfigError('bad_config', NO_URL);
  const timing = { ...TIMING, ...waits };
  const { epochNow, monotonicMs, silenceMs } = timing;
  const client = new MatrixClient(config.url, config.token, epochNow, monotonicMs, timing.wholeMs);
  const replacements = new Replacements(client, monotonicMs);
  const { token, recoveryKey } = config;
  const { maxRoomKeys } = timing;
  const encryption = new Encryption({ ...deps, client, token, recoveryKey, monotonicMs, maxRoomKeys });
  const sending = new Sending(client, replacements, encryption, monotonicMs);
  let receiving: Receiving | undefined;
  let id: string | undefined;
  const self = async (): Promise<string> => (id ??= await whoAmI(client));
  const reactions = questionReactions(client, sending, self, monotonicMs);
  const strangerRooms = new TtlCache<true>(STRANGER_ROOMS_MS, MAX_STRANGER_ROOMS, monotonicMs);
  const parts = { ...deps, client, sending, encryption, replacements, strangerRooms, reactions, timing };
  return {
    name: 'matrix',
    capabilities: capabilitiesOf(config),
    render,
    identify: async () => {
      id = await whoAmI(client);
      return { id, name: id };
    },
    start: async (receive) => {
      await receiving?.stop();
      receiving = new Receiving({ ...parts, self: await self(), receive });
      await receiving.start();
    },
    stop: async () => {
      await receiving?.stop();
      encryption.close();
    },
    send: async (part) => {
      const content = contentOf(part.body, part.buttons, part.plain);
      const relation = relationOf(part, part.replyTo, part.after?.id);
      return await sending.send(part, { ...content, ...relation }, part.nonce);
    },
    sendFile: async (file) => await sendFile(client, sending, encryption, file),
    edit: async (message, part) => {
      await sending.edit(message, part, contentOf(part.body, part.buttons, part.plain));
      return message;
    },
    delete: async (message, place) => await sending.delete(message, place),
    download: async (media, signal) => await openFile(client, sending, media, silenceMs, signal),
    typing: async (place) => await showTyping(client, place, await self()),
    before: async (...range) => (await receiving?.readThread(...range)) ?? [],
    react: async (question, state) => await reactions.show(question, state),
    /** Reads the full state of the room: the content of the event that created it does not say by whom. */
    isAdmin: async (place, senderId) => {
      checkPlace(place);
      const answer = await client.call('GET', pathOf(CLIENT, 'rooms', place.chatId, 'state'));
      return isAdministrator(readEvents(answer), senderId);
    },
    health: () => healthOf(receiving, client, encryption, maxRoomKeys),
  };
}

function healthOf(
  receiving: Receiving | undefined,
  client: MatrixClient,
  encryption: Encryption,
  most: number,
): ChannelHealth {
  const health = receiving?.health ?? { state: 'off' };
  if (health.state === 'off') return health;
  const count = encryption.droppedKeys;
  const notice = count === 0 ? undefined : textRef('health.keys_dropped', { network: 'Matrix', most, count });
  return { ...(client.health ?? encryption.health ?? health), ...(notice && { notice }) };
}

async function showTyping(client: MatrixClient, place: Place, self: string): Promise<void> {
  checkPlace(place);
  const path = pathOf(CLIENT, 'rooms', place.chatId, 'typing', self);
  await client.call('PUT', path, { body: { typing: true, timeout: TYPING_SHOWN_MS }, limit: 'typing' });
}

const WhoAmI = z.object({ user_id: z.string().regex(USER_ID) });

/** The id of the bot. Throws `ChannelError`. */
async function whoAmI(client: MatrixClient): Promise<string> {
  const { data } = WhoAmI.safeParse(await client.call('GET', pathOf(CLIENT, 'account', 'whoami')));
  if (data !== undefined) return data.user_id;
  throw channelUnavailable('The Matrix homeserver did not say who the token belongs to; asking again later.');
}

/** A homeserver counts an account's events over all its rooms. */
function capabilitiesOf({
  reactions,
  followUps,
  eventsPerSecond,
  accountBurst,
  editIntervalMs,
  burst: burstSize,
}: MatrixConfig) {
  return usualCapabilities({
    reactsIn: reactions,
    followUps,
    maxFileBytes: MAX_UPLOAD_BYTES,
    maxLength: MAX_LENGTH,
    rates: {
      callsPerSecond: eventsPerSecond,
      bucket: accountBurst,
      of: ({ chatId }) => ({
        key: chatId,
        editIntervalMs,
        burst: burstSize,
        reserved: 1,
        countsForBot: true,
      }),
    },
    typingMs: TYPING_MS,
  });
}
