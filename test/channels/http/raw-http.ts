/** HTTP over a raw socket, for requests that normal clients do not send. */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  text: string;
}

/** Opens a socket to the channel. */
export function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** The first answer on the socket; status 0 if it closed without one. */
export function readAnswer(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const settle = (): void => resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), text });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const [head, body = ''] = text.split('\r\n\r\n');
      const length = /content-length: (\d+)/i.exec(head ?? '')?.[1];
      if (length !== undefined && body.length >= Number(length)) settle();
    });
    socket.on('close', settle);
    socket.on('error', settle);
  });
}

/** Sends lines as one request and reads the answer. */
export async function rawRequest(url: string, lines: string[], body = ''): Promise<RawAnswer> {
  const socket = await openSocket(url);
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  const answer = await readAnswer(socket);
  socket.destroy();
  return answer;
}
