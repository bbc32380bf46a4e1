/** A name server on a loopback socket (RFC 1035): answers A and AAAA queries from a table, silent for some names. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

export interface NameServer {
  /** `127.0.0.1:<port>`. */
  address: string;
  /** Names queried so far, one for each query. */
  asked: string[];
  close(): Promise<void>;
}

const A = 1;

/** Starts the server; a name without an entry does not exist, and one with `silent` is never answered. */
export async function startNameServer(
  names: Record<string, readonly string[] | 'silent'>,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (question, from) => {
    const { name, type, end } = readQuestion(question);
    asked.push(name);
    const known = names[name];
    if (known === 'silent') return;
    const rightKind = (known ?? []).filter((address) => isIPv4(address) === (type === A));
    const answer = Buffer.concat([question.subarray(0, end), ...rightKind.map((one) => record(one, type))]);
    // A response, with recursion; code 3 = the name does not exist.
    answer.writeUInt16BE(known === undefined ? 0x81_83 : 0x81_80, 2);
    answer.writeUInt16BE(rightKind.length, 6);
    answer.writeUInt32BE(0, 8);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readQuestion(packet: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = packet[at] ?? 0; length > 0; length = packet[at] ?? 0) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), type: packet.readUInt16BE(at + 1), end: at + 5 };
}

/** A record that refers to the name of the query. IPv6 addresses are given in full. */
function record(address: string, type: number): Buffer {
  const bytes =
    type === A
      ? Buffer.from(address.split('.').map(Number))
      : Buffer.from(address.replaceAll(':', ''), 'hex');
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}
