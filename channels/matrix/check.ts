/** What `parley doctor` asks the homeserver about the bot: its token, and the limits of answers. Changes nothing. */
import { z } from 'zod';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Finding } from '../../src/protocol/channel.ts';
import { CLIENT, MatrixClient, pathOf } from './client.ts';

const SUBJECT = 'Matrix';

const WhoAmI = z.object({ user_id: z.string(), device_id: z.string().optional() });
const Rooms = z.object({ joined_rooms: z.array(z.string()) });

/** Asks with `whoami` and `joined_rooms`. The token is secret. Never throws. */
export async function check(url: string | undefined, token: string): Promise<Finding[]> {
  if (url === undefined)
    return error(
      'MATRIX_URL is not set.',
      'set it to the address of the homeserver, such as https://matrix.example.org',
    );
  const client = new MatrixClient(url, token, Date.now, () => performance.now());
  try {
    const { user_id: id, device_id: device } = WhoAmI.parse(
      await client.call('GET', pathOf(CLIENT, 'account', 'whoami')),
    );
    const { joined_rooms: rooms } = Rooms.parse(await client.call('GET', pathOf(CLIENT, 'joined_rooms')));
    const text = `The token belongs to ${id}, in ${rooms.length} rooms.`;
    const owner: Finding = { subject: SUBJECT, level: 'ok', text };
    return device === undefined ? [owner, noDevice()] : [owner];
  } catch (failure) {
    const { code } = toGatewayError(failure);
    if (code === 'unauthorized')
      return error(
        'The access token is refused.',
        'log the bot in again and set MATRIX_TOKEN to the new access token',
      );
    return error(
      'The homeserver cannot be reached.',
      'check whether MATRIX_URL is right and this machine can reach it',
    );
  }
}

function error(text: string, remedy: string): Finding[] {
  return [{ subject: SUBJECT, level: 'error', text, remedy }];
}

/** Transaction ids apply per device ("Transaction identifiers"). */
function noDevice(): Finding {
  const text = 'The token belongs to no device: after a crash a message may be sent twice.';
  return {
    subject: SUBJECT,
    level: 'warning',
    text,
    remedy: 'log the bot in (docs/matrix.md) and use that token',
  };
}
