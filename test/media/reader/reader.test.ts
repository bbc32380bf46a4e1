/** The process that reads files: what it extracts from each kind, and how a hostile or broken one ends as a sentence. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createReader } from '../../../src/media/reader/reader.ts';
import type { Confinement } from '../../../src/lib/confinement.ts';
import { MAX_DOCUMENT_CHARS, MAX_PICTURE_SIDE } from '../../../src/media/reader/protocol.ts';
import { docx, pdf, png, xlsx, zipBomb } from '../../fakes/files/documents.ts';

const never = new AbortController().signal;
const read = createReader();
const readText = async (bytes: Uint8Array) => (await read(bytes, 'ann', never)).text;

describe('a file that is read', () => {
  it('yields the text of documents', async () => {
    expect(await readText(pdf(['Hello (there)', 'Bye']))).toBe(
      '[page 1 of 2]\nHello (there)\n\n[page 2 of 2]\nBye',
    );
    expect(await readText(docx(['One', 'Two']))).toBe('One\n\nTwo');
    expect(
      await readText(
        xlsx([
          ['a', 'x,y'],
          [1.5, 'say "q"'],
        ]),
      ),
    ).toBe('[sheet Costs]\na,"x,y"\n1.5,"say ""q"""');
  });

  it('is identified by its content', async () => {
    const typed = async (text: string | Uint8Array) => (await read(Buffer.from(text), 'ann', never)).mimeType;
    expect(await typed('just text')).toBe('text/plain');
    expect(await typed('{"a": 1}')).toBe('application/json');
    expect(await typed('{not json}')).toBe('text/plain');
    expect(await typed('<!DOCTYPE html><p>x')).toBe('text/html');
    expect(await typed('<?xml version="1.0"?><svg/>')).toBe('image/svg+xml');
    expect(await typed(Buffer.from('\ufeffhello', 'utf16le'))).toBe('text/plain');
    expect(await typed(Buffer.from([0, 1, 2, 3]))).toBe('application/octet-stream');
    expect(await typed('OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead')).toMatch(
      /^audio\/ogg/,
    );
  });

  it(`becomes a JPEG of at most ${MAX_PICTURE_SIDE} pixels when it is a picture, and is never enlarged`, async () => {
    const large = await read(await png(3_200, 1_600), 'ann', never);
    expect(large.picture).toEqual({ width: MAX_PICTURE_SIDE, height: MAX_PICTURE_SIDE / 2 });
    expect((await sharp(large.image).metadata()).format).toBe('jpeg');
    expect((await read(await png(40, 20), 'ann', never)).picture).toEqual({ width: 40, height: 20 });
  });

  it('is cut off when its text is too long', async () => {
    const whole = await read(Buffer.from('x'.repeat(MAX_DOCUMENT_CHARS)), 'ann', never);
    expect([whole.text?.length, whole.cut]).toEqual([MAX_DOCUMENT_CHARS, undefined]);
    const cut = await read(Buffer.from('x'.repeat(MAX_DOCUMENT_CHARS + 1)), 'ann', never);
    expect([cut.text?.length, cut.cut]).toEqual([MAX_DOCUMENT_CHARS, true]);
  });
});

describe('a file that cannot be read ends as a sentence', () => {
  const problem = async (bytes: Uint8Array) => (await read(bytes, 'ann', never)).problem;

  it('when an archive unpacks to too much, whatever it claims', async () => {
    expect(await problem(zipBomb(200))).toContain('unpacks to more than 50 MB');
    expect(await readText(zipBomb(200, 1_000))).toBe('x');
  });

  it('when a picture has too many pixels, or is broken', async () => {
    const huge = sharp({ create: { width: 8_000, height: 8_000, channels: 3, background: 'red' } }).png();
    expect(await problem(await huge.toBuffer())).toContain('pixel limit');
    expect(await problem((await png(100, 100)).subarray(0, 120))).toContain('cannot be read');
  });

  it('when a PDF is broken, or contains no text', async () => {
    expect(await problem(Buffer.from('%PDF-1.4\ngarbage'))).toContain('cannot be read');
    expect(await problem(pdf(['']))).toContain('no text');
  });

  it('runs no script of a PDF', async () => {
    const script = '/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>';
    expect(await readText(pdf(['plain'], script))).toBe('[page 1 of 1]\nplain');
  });
});

describe('the process that reads', () => {
  let folder = '';
  const program = async (source: string): Promise<string> => {
    const file = path.join(folder, `${source.length}.mjs`);
    await writeFile(file, source);
    return file;
  };
  beforeAll(async () => {
    folder = await mkdtemp(path.join(import.meta.dirname, '.programs-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const binary = Buffer.from([0, 1, 2]);

  it('is ended when it takes too long, and with the turn', async () => {
    const endless = await program('setInterval(() => {}, 1000); process.stdin.resume();');
    const slow = createReader({ program: endless, readMs: 200 });
    await expect(slow(binary, 'ann', never)).rejects.toMatchObject({ code: 'too_slow' });
    const stopped = createReader({ program: endless })(binary, 'ann', AbortSignal.timeout(200));
    await expect(stopped).rejects.toThrow('timeout');
  });

  it('can run out of memory without taking down the gateway', async () => {
    const greedy = await program('const all = []; for (;;) all.push(new Array(1e6).fill(all.length));');
    await expect(createReader({ program: greedy })(binary, 'ann', never)).rejects.toMatchObject({
      code: 'unreadable',
    });
  });

  it('has no environment, and may neither read other files, write, nor start anything', async () => {
    const outside = path.join(tmpdir(), 'parley-outside.txt');
    await writeFile(outside, 'secret');
    const curious = await program(`
      import fs from 'node:fs';
      import { execSync } from 'node:child_process';
      const tried = [
        () => fs.readFileSync(${JSON.stringify(outside)}),
        () => fs.writeFileSync(${JSON.stringify(`${outside}.new`)}, 'x'),
        () => execSync('id'),
        () => new Function('return 1')(),
      ].map((attempt) => { try { attempt(); return 'done'; } catch (error) { return error.code ?? error.name; } });
      const text = JSON.stringify([Object.keys(process.env), ...tried]);
      console.log(JSON.stringify({ mimeType: 'text/plain', text }));`);
    const { text } = await createReader({ program: curious })(binary, 'ann', never);
    await rm(outside);
    const denied = 'ERR_ACCESS_DENIED';
    // bubblewrap sets one name: its own working folder.
    const [names, ...outcomes] = JSON.parse(text ?? '');
    expect(names.filter((name: string) => name !== 'PWD')).toEqual([]);
    expect(outcomes).toEqual([denied, denied, denied, 'EvalError']);
  });

  it.each<[string, readonly Confinement[]]>([
    ['in the closest way that works here', ['bubblewrap', 'unshare']],
    ['without bubblewrap', ['unshare']],
  ])(
    'can read no home in the folder of the program, and reach no address of this machine, %s',
    async (_, ways) => {
      const root = path.resolve(import.meta.dirname, '../../..');
      const home = await mkdtemp(path.join(root, '.parley-reader-'));
      onTestFinished(() => rm(home, { recursive: true, force: true }));
      await writeFile(path.join(home, 'token'), 'secret');
      const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1');
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const curious = await program(`
      import fs from 'node:fs';
      import net from 'node:net';
      const read = (place) => { try { return String(fs.readFileSync(place)); } catch (error) { return error.code; } };
      const reach = new Promise((resolve) => {
        try { net.connect(${port}, '127.0.0.1').on('data', (data) => resolve(String(data))).on('error', (error) => resolve(error.code)); }
        catch (error) { resolve(error.code); }
      });
      const places = ${JSON.stringify([path.join(home, 'token'), path.join(root, '.env'), path.join(root, '.git'), '/etc/passwd'])};
      const text = JSON.stringify({ files: places.map(read), reached: await reach });
      console.log(JSON.stringify({ mimeType: 'text/plain', text }));
      process.exit();`);
      let isOpen = false;
      const reader = createReader({ program: curious, ways, onOpen: () => (isOpen = true) });
      const { files, reached } = JSON.parse((await reader(binary, 'ann', never)).text ?? '');
      expect(new Set(files)).toEqual(new Set(['ERR_ACCESS_DENIED']));
      // A machine may allow neither: then the gateway says so.
      expect({ isOpen, reached: reached === 'reached' }).toEqual({ isOpen, reached: isOpen });
    },
  );

  it('is reported once when its network is open', async () => {
    const reports: string[] = [];
    const answer = await program(`console.log(JSON.stringify({ mimeType: 'text/plain', text: 'read' }));`);
    const reader = createReader({ program: answer, ways: ['open'], onOpen: () => reports.push('open') });
    for (let n = 0; n < 2; n += 1) expect((await reader(binary, 'ann', never)).text).toBe('read');
    expect(reports).toEqual(['open']);
  });
});
