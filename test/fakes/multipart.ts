/** Reads a form with files (multipart/form-data) as servers do: strictly, and completely. */

/** One field of a form; a file has a `filename`. */
export interface FormPart {
  name: string;
  filename?: string;
  contentType?: string;
  bytes: Buffer;
}

/** The fields of a form, in order. Throws `Error` for anything that a server would not understand. */
export function readMultipart(contentType: string, body: Buffer): FormPart[] {
  const boundary = /^multipart\/form-data;\s*boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) throw new Error('no boundary');
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: FormPart[] = [];
  let at = body.indexOf(delimiter);
  if (at !== 0) throw new Error('the form does not begin with its boundary');
  for (;;) {
    at += delimiter.length;
    if (body.subarray(at, at + 2).toString() === '--') return parts;
    const next = body.indexOf(Buffer.from(`\r\n--${boundary}`), at);
    if (next < 0) throw new Error('the form ends before its last boundary');
    parts.push(readPart(body.subarray(at + 2, next)));
    at = next + 2;
  }
}

function readPart(part: Buffer): FormPart {
  const end = part.indexOf('\r\n\r\n');
  if (end < 0) throw new Error('a field has no end of its headers');
  const headers = new Map(
    part
      .subarray(0, end)
      .toString('utf8')
      .split('\r\n')
      .map((line): [string, string] => {
        const [name = '', ...value] = line.split(':');
        return [name.trim().toLowerCase(), value.join(':').trim()];
      }),
  );
  const disposition = headers.get('content-disposition') ?? '';
  const name = /^form-data;.*?\bname="([^"]*)"/.exec(disposition)?.[1];
  if (name === undefined) throw new Error(`a field has no name: ${disposition}`);
  const [, quoted, bare] = /\bfilename=(?:"([^"]*)"|([^;\s"][^;"]*))/.exec(disposition) ?? [];
  const filename = quoted ?? bare;
  const contentType = headers.get('content-type');
  return {
    name,
    ...(filename !== undefined && { filename }),
    ...(contentType !== undefined && { contentType }),
    bytes: part.subarray(end + 4),
  };
}
