/** The fields of a protobuf message, as far as OpenTelemetry traces need them. */

export interface Field {
  number: number;
  /** The content; for a varint its value. */
  bytes: Buffer;
  value: bigint;
}

/** Reads one message. Throws for invalid input. */
export function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at];
      if (byte === undefined || shift > 63n) throw new Error('a varint is cut off');
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const [number, type] = [Number(tag >> 3n), Number(tag & 7n)];
    if (type === 0) {
      fields.push({ number, bytes: Buffer.alloc(0), value: varint() });
      continue;
    }
    const length = type === 1 ? 8 : type === 5 ? 4 : type === 2 ? Number(varint()) : -1;
    const bytes = message.subarray(at, at + length);
    if (length < 0 || bytes.length !== length) throw new Error(`field ${number} is cut off`);
    at += length;
    fields.push({ number, bytes, value: type === 1 ? bytes.readBigUInt64LE() : 0n });
  }
  return fields;
}

export function text(field: Field | undefined): string {
  return field?.bytes.toString('utf8') ?? '';
}

export function uint(field: Field | undefined): number {
  return Number(field?.value ?? 0n);
}
