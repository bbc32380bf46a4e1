/** What `parley doctor` asks the homeserver about the bot: its token, and the keys of its device. Changes nothing. */
import { z } from 'zod';
import { findingsOn } from '../../src/protocol/channel-parts.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Finding } from '../../src/protocol/channel.ts';
import { CLIENT, MatrixClient, pathOf } from './client.ts';

const finding = findingsOn('Matrix');

/** Transaction ids apply per device ("Transaction identifiers"). */
const NO_DEVICE = finding(
  'warning',
  'The token belongs to no device: the bot cannot read encrypted rooms, and after a crash a message may be sent twice.',
  'log the bot in (docs/matrix.md) and use that token',
);

const WhoAmI = z.object({ user_id: z.string(), device_id: z.string().optional() });
const Named = z.record(z.string(), z.string()).catch({});
const Queried = z.object({
  device_keys: z
    .record(
      z.string(),
      z.record(z.string(), z.object({ keys: Named, signatures: z.record(z.string(), Named).catch({}) })),
    )
    .catch({}),
  self_signing_keys: z.record(z.string(), z.object({ keys: Named })).catch({}),
});
const Rooms = z.object({ joined_rooms: z.array(z.string()) });

/** Asks with `whoami` and `joined_rooms`. The token is secret. Never throws. */
export async function check(url: string | undefined, token: string): Promise<Finding[]> {
  if (url === undefined)
    return [
      finding(
        'error',
        'MATRIX_URL is not set.',
        'set it to the address of the homeserver, such as https://matrix.example.org',
      ),
    ];
  const client = new MatrixClient(url, token, Date.now, () => performance.now());
  try {
    const { user_id: id, device_id: device } = WhoAmI.parse(
      await client.call('GET', pathOf(CLIENT, 'account', 'whoami')),
    );
    const { joined_rooms: rooms } = Rooms.parse(await client.call('GET', pathOf(CLIENT, 'joined_rooms')));
    const owner = finding('ok', `The token belongs to ${id}, in ${rooms.length} rooms.`);
    return [owner, device === undefined ? NO_DEVICE : await deviceOf(client, id, device)];
  } catch (failure) {
    const [text, remedy] =
      toGatewayError(failure).code === 'unauthorized'
        ? [
            'The access token is refused.',
            'log the bot in again and set MATRIX_TOKEN to the new access token',
          ]
        : [
            'The homeserver cannot be reached.',
            'check whether MATRIX_URL is right and this machine can reach it',
          ];
    return [finding('error', text, remedy)];
  }
}

/** Whether others see the device as verified ("Cross-signing"), and its key. Throws `ChannelError`. */
async function deviceOf(client: MatrixClient, userId: string, deviceId: string): Promise<Finding> {
  const body = { device_keys: { [userId]: [] } };
  const answer = await client.call('POST', pathOf(CLIENT, 'keys', 'query'), { body });
  const { device_keys: devices, self_signing_keys: signing } = Queried.parse(answer);
  const device = devices[userId]?.[deviceId];
  if (device === undefined)
    return finding('ok', `Its device ${deviceId} gets keys with the first encrypted room.`);
  const fingerprint = (device.keys[`ed25519:${deviceId}`] ?? '').replaceAll(/.{4}(?=.)/g, '$& ');
  const signatures = device.signatures[userId] ?? {};
  const isSigned = Object.keys(signing[userId]?.keys ?? {}).some((key) => key in signatures);
  if (isSigned) return finding('ok', `Its device ${deviceId} is verified. Its key: ${fingerprint}`);
  return finding(
    'warning',
    `Its device ${deviceId} is not verified: apps that send only to verified devices do not send to it. Its key: ${fingerprint}`,
    'set MATRIX_RECOVERY_KEY to the recovery key of the account (docs/matrix.md)',
  );
}
