/** Reads the body of an answer under its caps: bytes on the wire, bytes after decompression, and a minimum rate. */
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatewayError } from '../protocol/errors.ts';

export interface BodyLimits {
  /** Most bytes read from the connection. */
  wireBytes: number;
  /** Most bytes after decompression. */
  decodedBytes: number;
  /** A server that sends less than `minBytes` in this many milliseconds is abandoned. */
  windowMs: number;
  minBytes: number;
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
};

/** The encodings that can be read, as the request names them. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

/** The whole decoded body. Throws `GatewayError`: `too_large`, `too_slow`, `bad_response`; and the stream's errors. */
export async function readBody(source: Readable, encoding: string, limits: BodyLimits): Promise<Buffer> {
  const decoder = decoderFor(encoding);
  const chunks: Buffer[] = [];
  let decoded = 0;
  const keep = async (stream: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of stream) {
      decoded += chunk.length;
      if (decoded > limits.decodedBytes) throw tooLarge(limits.decodedBytes, 'unpacked');
      chunks.push(chunk);
    }
  };
  let wire = 0;
  let inWindow = 0;
  const meter = async function* (stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of stream) {
      wire += chunk.length;
      inWindow += chunk.length;
      if (wire > limits.wireBytes) throw tooLarge(limits.wireBytes, 'sent');
      yield chunk;
    }
  };
  const watch = setInterval(() => {
    if (inWindow < limits.minBytes) source.destroy(tooSlow());
    inWindow = 0;
  }, limits.windowMs);
  try {
    if (decoder === undefined) await pipeline(source, meter, keep);
    else await pipeline(source, meter, decoder, keep);
  } finally {
    clearInterval(watch);
  }
  return Buffer.concat(chunks);
}

/** One encoding at most: with stacked ones a small answer could decompress endlessly. */
function decoderFor(encoding: string): Transform | undefined {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const make = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (make === undefined) {
    throw new GatewayError(
      'bad_response',
      `The server compressed its answer in a way that is not supported (${name.slice(0, 60)}).`,
    );
  }
  return make();
}

function tooLarge(bytes: number, stage: string): GatewayError {
  return new GatewayError(
    'too_large',
    `The answer is larger than the ${bytes} bytes that are read (${stage}).`,
  );
}

export function tooSlow(): GatewayError {
  return new GatewayError('too_slow', 'The server answers too slowly.', { retryable: true });
}
