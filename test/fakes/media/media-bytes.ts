/** Small files of the kinds that platforms inspect. */

/** A PNG of one red pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);

/** Two pages of an OGG file with Opus that lasts 1.5 seconds; no player would find audio in it. */
export const OGG = Buffer.concat([oggPage(0n, 'OpusHead'), oggPage(72_000n, 'sound')]);

function oggPage(position: bigint, content: string): Buffer {
  const head = Buffer.alloc(28);
  head.write('OggS', 0, 'latin1');
  head.writeBigInt64LE(position, 6);
  head[26] = 1;
  head[27] = content.length;
  return Buffer.concat([head, Buffer.from(content)]);
}
