/** What `parley doctor` asks the homeserver about the bot: its token, and the limits of answers. Changes nothing. */
import { z } from 'zod';
import { findingsOn } from '../../src/protocol/channel-parts.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Finding } from '../../src/protocol/channel.ts';
import { CLIENT, MatrixClient, pathOf } from './client.ts';

const finding = findingsOn('Matrix');

/** Transaction ids apply per device ("Transaction identifiers"). */
const NO_DEVICE = finding(
  'warning',
  'The token belongs to no device: after a crash a message may be sent twice.',
  'log the bot in (docs/matrix.md) and use that token',
);

const WhoAmI = z.object({ user_id: z.string(), device_id: z.string().optional() });
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
    return device === undefined ? [owner, NO_DEVICE] : [owner];
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
