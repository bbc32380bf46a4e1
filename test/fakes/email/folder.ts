/** A folder of a mailbox, and how its mails are told to a client. [RFC 3501, 7.4.2: FETCH] */
export interface StoredMail {
  uid: number;
  raw: Buffer;
  flags: Set<string>;
  date: Date;
}

export class Folder {
  readonly name: string;
  readonly use: string;
  mails: StoredMail[] = [];
  validity = 1_700_000_001;
  next = 1;

  constructor(name: string, use = '') {
    this.name = name;
    this.use = use;
  }

  add(raw: Buffer, flags: readonly string[] = [], date = new Date()): StoredMail {
    const mail = { uid: this.next, raw, flags: new Set(flags), date };
    this.next += 1;
    this.mails.push(mail);
    return mail;
  }
}

/** What FETCH answers for one item. Throws `Error` for one that there is not. */
export function itemOf(item: string, { uid, flags, raw, date }: StoredMail): Buffer[] {
  if (item === 'UID') return [Buffer.from(`UID ${uid}`)];
  if (item === 'FLAGS') return [Buffer.from(`FLAGS (${[...flags].join(' ')})`)];
  if (item === 'RFC822.SIZE') return [Buffer.from(`RFC822.SIZE ${raw.length}`)];
  if (item === 'INTERNALDATE') return [Buffer.from(`INTERNALDATE "${internalDate(date)}"`)];
  const [, fields] = /^BODY\.PEEK\[HEADER\.FIELDS \(([^)]*)\)\]$/.exec(item) ?? [];
  if (fields !== undefined) {
    const names = fields.replaceAll('"', '').split(' ');
    const lines = headerLines(raw).filter((line) =>
      names.includes(line.split(':', 1)[0]?.toUpperCase() ?? ''),
    );
    return [
      literal(`BODY[HEADER.FIELDS (${fields})]`, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')),
    ];
  }
  const [, start, length] = /^BODY\.PEEK\[\](?:<(\d+)\.(\d+)>)?$/.exec(item) ?? [undefined, 'none', ''];
  if (start === 'none') throw new Error(`no item ${item}`);
  if (start === undefined) return [literal('BODY[]', raw)];
  return [literal(`BODY[]<${start}>`, raw.subarray(Number(start), Number(start) + Number(length)))];
}

function literal(name: string, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${name} {${bytes.length}}\r\n`), bytes]);
}

function headerLines(raw: Buffer): string[] {
  const [head = ''] = raw.toString('latin1').split('\r\n\r\n', 1);
  return head.split(/\r\n(?![ \t])/);
}

export function headerOf(raw: Buffer, name: string): string[] {
  return headerLines(raw).flatMap((line) => {
    const at = line.indexOf(':');
    return line.slice(0, at).toLowerCase() === name.toLowerCase() ? [line.slice(at + 1).trim()] : [];
  });
}

/** `3`, `2:5`, `7:*`: `*` is the last one, and a range may be turned round. */
export function isIn(set: string, value: number, last: number): boolean {
  return set.split(',').some((range) => {
    const [a = '', b = a] = range.split(':');
    const [from, to] = [a, b].map((one) => (one === '*' ? last : Number(one)));
    return value >= Math.min(from ?? 0, to ?? 0) && value <= Math.max(from ?? 0, to ?? 0);
  });
}

/** ` 5-Nov-2026 09:07:03 +0000` */
function internalDate(date: Date): string {
  const [, day = '', month = '', year = '', time = ''] =
    /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(date.toUTCString()) ?? [];
  return `${day}-${month}-${year} ${time} +0000`;
}
