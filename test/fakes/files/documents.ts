/** Small documents and images, and hostile ones, created in memory. */
import { deflateRawSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import sharp from 'sharp';

/** An image of one color. */
export async function png(width: number, height: number): Promise<Buffer> {
  const create = { width, height, channels: 3 as const, background: { r: 200, g: 30, b: 30 } };
  return await sharp({ create }).png().toBuffer();
}

/** A photo as phones take it: turned on its side, with a location in its metadata. */
export async function photo(width: number, height: number): Promise<Buffer> {
  const create = { width, height, channels: 3 as const, background: { r: 30, g: 90, b: 30 } };
  return await sharp({ create })
    .jpeg()
    .withExif({ IFD0: { Orientation: '6', Copyright: 'SECRET-PLACE' } })
    .withMetadata({ orientation: 6 })
    .toBuffer();
}

/** A PDF with a line of text on each page, and `extra` objects. */
export function pdf(pages: readonly string[], catalog = ''): Buffer {
  const kids = pages.map((_, index) => `${3 + 2 * index} 0 R`).join(' ');
  const font = 3 + 2 * pages.length;
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    ...pages.flatMap((text, index) => {
      const drawn = `BT /F1 12 Tf 72 720 Td (${text.replaceAll(/[()\\]/g, '\\$&')}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${4 + 2 * index} 0 R /Resources << /Font << /F1 ${font} 0 R >> >> >>`,
        `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
      ];
    }),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`;
  return Buffer.from(`${body}xref\n0 ${size}\n0000000000 65535 f \n${table}${trailer}`, 'latin1');
}

const CONTENT_TYPES = (part: string, type: string): string =>
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="${part}" ContentType="application/vnd.openxmlformats-officedocument.${type}.main+xml"/></Types>`;
const ROOT_RELS = (target: string): string =>
  `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="${target}"/></Relationships>`;

/** A document of these paragraphs. */
export function docx(paragraphs: readonly string[]): Buffer {
  const body = paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('');
  const document = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`;
  return archive({
    '[Content_Types].xml': CONTENT_TYPES('/word/document.xml', 'wordprocessingml.document'),
    '_rels/.rels': ROOT_RELS('word/document.xml'),
    'word/document.xml': document,
  });
}

/** A spreadsheet with one sheet of these rows. */
export function xlsx(rows: readonly (readonly (string | number)[])[]): Buffer {
  const cells = rows.map((row, y) => {
    const inner = row.map((value, x) => {
      const place = `${String.fromCharCode(65 + x)}${y + 1}`;
      return typeof value === 'number'
        ? `<c r="${place}"><v>${value}</v></c>`
        : `<c r="${place}" t="inlineStr"><is><t>${value}</t></is></c>`;
    });
    return `<row r="${y + 1}">${inner.join('')}</row>`;
  });
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const rels = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  return archive({
    '[Content_Types].xml': CONTENT_TYPES('/xl/workbook.xml', 'spreadsheetml.sheet'),
    '_rels/.rels': ROOT_RELS('xl/workbook.xml'),
    'xl/workbook.xml': `<?xml version="1.0"?><workbook xmlns="${main}" xmlns:r="${rels}"><sheets><sheet name="Costs" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${rels}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    'xl/worksheets/sheet1.xml': `<?xml version="1.0"?><worksheet xmlns="${main}"><sheetData>${cells.join('')}</sheetData></worksheet>`,
  });
}

function archive(files: Record<string, string>): Buffer {
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)]))),
  );
}

/** A document of a few hundred kilobytes that unpacks to `megabytes`; with `claims`, it claims that many bytes. */
export function zipBomb(megabytes: number, claims?: number): Buffer {
  const packed = docx(['x']);
  const name = 'word/bomb.xml';
  const data = deflateRawSync(Buffer.alloc(megabytes * 1_000_000, 0x20), { level: 9 });
  const size = claims ?? megabytes * 1_000_000;
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(8, 8);
  header.writeUInt32LE(data.length, 18);
  header.writeUInt32LE(size, 22);
  header.writeUInt16LE(name.length, 26);
  const local = Buffer.concat([header, Buffer.from(name), data]);
  const directoryAt = packed.readUInt32LE(packed.length - 6);
  const directory = packed.subarray(directoryAt, packed.length - 22);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(20, 6);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(data.length, 20);
  entry.writeUInt32LE(size, 24);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt32LE(directoryAt, 42);
  const whole = Buffer.concat([directory, entry, Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(4, 8);
  end.writeUInt16LE(4, 10);
  end.writeUInt32LE(whole.length, 12);
  end.writeUInt32LE(directoryAt + local.length, 16);
  return Buffer.concat([packed.subarray(0, directoryAt), local, whole, end]);
}
